# In the process tier another process of the user cannot be moved to other processors.
# spec: {"tier": "process"}
# off: change=no-guard
import os
from kernel import *

denied("the processors of init", os.sched_setaffinity, os.getppid(), os.sched_getaffinity(0))
