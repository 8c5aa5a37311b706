# In the process tier the priority of another process of the user cannot be changed.
# spec: {"tier": "process"}
# off: change=no-guard
import os
from kernel import *

os.setpriority(os.PRIO_PROCESS, 0, 19)  # the highest, whatever the caller has
denied("the priority of init", os.setpriority, os.PRIO_PROCESS, os.getppid(), 19)
