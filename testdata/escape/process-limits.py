# In the process tier the limits of another process of the user, init for one, cannot be changed or read.
# spec: {"tier": "process"}
# off: change=no-guard
import os
import resource
from kernel import *

resource.prlimit(0, resource.RLIMIT_CPU)
denied("prlimit of init", resource.prlimit, os.getppid(), resource.RLIMIT_CPU)
