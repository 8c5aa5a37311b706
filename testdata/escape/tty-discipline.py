# The caller's terminal keeps its line discipline (TIOCSETD), and stays open to others (TIOCEXCL).
# setup: terminal
# off: spec={"seccomp": "unconfined"}
import struct
from kernel import *

HIGH = 0xDEAD << 32
done = [what for what, r in (
    ("TIOCSETD", call("ioctl", 0, 0x5423, struct.pack("i", 0))),
    ("TIOCSETD, high bits", call("ioctl", 0, 0x5423 | HIGH, struct.pack("i", 0))),
    ("TIOCEXCL", call("ioctl", 0, 0x540C, 0)),
) if r == 0]
escaped(f"accepted: {done}") if done else contained("refused")
