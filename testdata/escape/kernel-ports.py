# Access to I/O ports and segment descriptors is refused.
# off: spec={"seccomp": "unconfined"}
import ctypes
from kernel import *

calls = {"iopl": (0,), "ioperm": (0, 1, 0), "modify_ldt": (0, ctypes.create_string_buffer(64), 64)}
reached = [c for c, args in calls.items() if name(call(c, *args)) != "EPERM"]
escaped(reached) if reached else contained("three calls")
