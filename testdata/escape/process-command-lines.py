# In the process tier the command lines of the host's processes, which can hold secrets, cannot be read.
# spec: {"tier": "process"}
# off: change=no-domain
import os
from kernel import *

denied("the command line of init", lambda: open(f"/proc/{os.getppid()}/stat").read())
