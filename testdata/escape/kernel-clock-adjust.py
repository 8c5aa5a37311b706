# adjtimex cannot change the clock's speed, even for root of the user namespace.
# spec: {"user": "0:0", "seccomp": "unconfined"}
# off: none, the kernel asks for CAP_SYS_TIME of the first user namespace
import ctypes
import struct
from kernel import *

expect("adjtimex", call("adjtimex", ctypes.create_string_buffer(struct.pack("<IxxxxqqQ", 2, 0, 1 << 20, 0), 256)))
