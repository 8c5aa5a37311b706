# In the process tier no signal reaches a process outside of the payload's own, init included: kill(-1) stays in as well.
# spec: {"tier": "process"}
# setup: host-process
# harm: every process of the payload's user is killed
# off: change=no-domain
import os
import signal
from kernel import *

try:
    os.kill(os.getppid(), 0)
    escaped("a signal can be sent to init")
except OSError:
    pass
child = os.fork()
if child == 0:
    signal.pause()
os.kill(-1, signal.SIGKILL)
os.waitpid(child, 0)
contained("its own child; the host's process is checked")
