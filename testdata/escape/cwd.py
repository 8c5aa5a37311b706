# The payload starts in the jail's working directory, not in the caller's.
# off: label=workdir
import os
from kernel import *

contained(os.getcwd()) if os.getcwd() == "/work" else escaped(os.getcwd())
