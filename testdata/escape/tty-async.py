# The caller's terminal cannot be made to send a signal of the payload's choice to its foreground processes, the host's.
# setup: terminal
# off: spec={"seccomp": "unconfined"}
import fcntl
import os
import struct
from kernel import *

HIGH = 0xDEAD << 32
flags = fcntl.fcntl(0, fcntl.F_GETFL)
done = [what for what, r in (
    ("F_SETSIG", call(72, 0, 10, 9)),
    ("F_SETSIG, high bits", call(72, 0, 10 | HIGH, 9)),
    ("F_SETFL O_ASYNC", call(72, 0, 4, flags | 0o20000)),
    ("F_SETFL O_ASYNC, high bits", call(72, 0, 4 | HIGH, flags | 0o20000 | HIGH)),
    ("FIOASYNC", call("ioctl", 0, 0x5452, struct.pack("i", 1))),
    ("FIOASYNC, high bits", call("ioctl", 0, 0x5452 | HIGH, struct.pack("i", 1))),
) if r == 0]
call("ioctl", 0, 0x5452, struct.pack("i", 0))
escaped(f"accepted: {done}") if done else contained("refused")
