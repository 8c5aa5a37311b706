# With the jail in the host's pid namespace, no signal reaches a process of the payload's uid: Landlock alone holds that.
# spec: {"no_init": true}
# plan: flag=CLONE_NEWPID
# plan: label=proc
# plan: bind=/proc
# args: $HOSTPID
# setup: host-process
# landlock: 6
# off: label=landlock
import os
import signal
import sys
from kernel import *

pid = int(sys.argv[1])
tried = []
for action in (
    lambda: os.kill(pid, 0),
    lambda: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGTERM),
    lambda: os.kill(pid, signal.SIGTERM),
):
    try:
        action()
        escaped("a signal can be sent to the host's process")
    except OSError as e:
        tried.append(e.strerror)
contained(", ".join(tried))
