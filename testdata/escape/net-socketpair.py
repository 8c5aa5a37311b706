# socketpair obeys the same rule on families.
# off: spec={"seccomp": "unconfined"}
import ctypes
from kernel import *

expect("socketpair(AF_INET)", call(53, 2, 1, 0, (ctypes.c_int * 2)()))
