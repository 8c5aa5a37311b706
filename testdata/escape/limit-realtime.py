# The payload cannot take a real-time priority or a negative nice value.
# off: none, RLIMIT_RTPRIO and RLIMIT_NICE are 0 on the host already and a namespace's CAP_SYS_NICE does not count
import os
from kernel import *

for what, action in (("SCHED_FIFO", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))),
                     ("nice", lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))):
    try:
        action()
        escaped(what)
    except PermissionError:
        pass
contained("both refused")
