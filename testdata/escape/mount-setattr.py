# mount_setattr cannot clear read-only or nosuid.
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
import ctypes
from kernel import *

attr = (ctypes.c_ulong * 4)(0, 1, 0, 0)  # clear MOUNT_ATTR_RDONLY
expect("mount_setattr", call("mount_setattr", -100, b"/\0", 0, attr, 32))
