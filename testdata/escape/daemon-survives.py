# A daemon with a session of its own ends with the jail.
# args: $MARK
# setup: daemon
# off: flag=CLONE_NEWPID
# off: label=proc
# off: bind=/proc
# off: spec={"no_init": true}
import os
import signal
from kernel import *

if os.fork() == 0:
    os.setsid()
    for s in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(s, signal.SIG_IGN)
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.execv("/usr/bin/python3", ["python3", "-c", "import time; time.sleep(8)", os.sys.argv[1]])
    os._exit(0)
os.wait()
contained("left a daemon; the host's side is checked")
