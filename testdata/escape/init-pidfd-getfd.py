# The payload cannot steal the report socket from pid 1 and forge the report with it.
# setup: forged-report
# off: call=PR_SET_DUMPABLE, 0
# off: spec={"seccomp": "unconfined"}
import os
import struct
from kernel import *

pidfd = call("pidfd_open", 1, 0)
fd = call("pidfd_getfd", pidfd, 0, 0)
if fd >= 0:
    os.write(fd, struct.pack("4i", 3, 9, 0, 0) + bytes(144))  # a REPORT_EXIT that says: ended by SIGKILL
    escaped("the report socket was stolen")
contained(f"pidfd_getfd: {name(fd)}")
