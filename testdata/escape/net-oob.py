# No urgent data can be sent: MSG_OOB in AF_UNIX, which no program needs, was a way into the kernel (CVE-2025-38236).
# off: spec={"seccomp": "unconfined"}
import socket
from kernel import *

HIGH = 0xDEAD << 32
a, b = socket.socketpair()
vector = (ctypes.c_void_p * 2)(ctypes.cast(ctypes.c_char_p(b"x"), ctypes.c_void_p), 1)
message = (ctypes.c_void_p * 8)(None, None, ctypes.addressof(vector), 1, None, None, None, None)  # struct mmsghdr
sent = [what for what, r in (
    ("sendto", call(44, a.fileno(), b"x", 1, 1, 0, 0)),
    ("sendto, high bits", call(44, a.fileno(), b"x", 1, 1 | HIGH, 0, 0)),
    ("sendmsg", call(46, a.fileno(), message, 1)),
    ("sendmmsg", call(307, a.fileno(), message, 1, 1)),
) if r >= 0]
if a.send(b"y") != 1:
    escaped("nothing can be sent at all")
escaped(sent) if sent else contained("refused")
