# The payload starts with the descriptors 0, 1 and 2 only.
# plan: leak=$DIR
# off: label=fds
import os
from kernel import *

open_fds = []
for fd in range(3, 1024):
    try:
        os.fstat(fd)
        open_fds.append(fd)
    except OSError:
        pass
escaped(open_fds) if open_fds else contained("nothing above 2")
