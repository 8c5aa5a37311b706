# The payload starts in the jail's working directory, not in the caller's.
# args: $WORKDIR
# off: label=workdir
import os
import sys
from kernel import *

contained(os.getcwd()) if os.getcwd() == sys.argv[1] else escaped(os.getcwd())
