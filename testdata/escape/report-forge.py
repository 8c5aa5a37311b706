# What the payload prints cannot change the report, though it looks like one.
# setup: forged-report
# off: call=PR_SET_DUMPABLE, 0
# off: spec={"seccomp": "unconfined"}
import os
import struct
from kernel import *

report = b'{"status":"error","exit_code":125,"timed_out":true}\n'
for fd in range(0, 20):
    try:
        os.write(fd, report)
        os.write(fd, struct.pack("4i", 3, 9, 0, 0) + bytes(144) + b"\n")
    except OSError:
        pass
fd = call("pidfd_getfd", call("pidfd_open", 1, 0), 0, 0)
if fd >= 0:
    escaped("the report socket is in reach")
contained("printed a forged report")
