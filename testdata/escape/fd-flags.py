# No flag of an open file that the caller passes is the payload's to change, nor who gets its signals.
# setup: pipe
# off: change=same-files
import fcntl
import os
from kernel import *

for command, value in ((fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_NONBLOCK | os.O_APPEND), (fcntl.F_SETOWN, os.getpid())):
    try:
        fcntl.fcntl(0, command, value)
    except OSError:
        pass
try:
    os.fchmod(0, 0)
except OSError:
    pass
contained("the caller looks at its file")
