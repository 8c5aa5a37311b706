# clone3 answers ENOSYS, so that its flags, which no filter can see, make no namespace and libraries fall back.
# off: spec={"seccomp": "unconfined"}
import ctypes
import errno
from kernel import *

args = (ctypes.c_ulong * 8)(0x10000000, 0, 0, 0, 17, 0, 0, 0)
r = call("clone3", args, 64)
if r == 0:
    os._exit(0)
expect("clone3", r, errno.ENOSYS)
