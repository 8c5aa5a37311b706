# kill(-1) reaches nothing outside the jail.
# setup: host-process
# harm: every process of the caller is killed
# off: none, without its pid namespace the payload would kill the suite itself
import os
import signal
from kernel import *

for s in (signal.SIGCONT, signal.SIGKILL):
    try:
        os.kill(-1, s)
    except ProcessLookupError:
        pass
contained("the host's side is checked")
