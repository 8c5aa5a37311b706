# No ambient capability can be raised.
# spec: {"user": "0:0"}
# off: label=caps
import ctypes
from kernel import *

call("capset", (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(1 << 21, 1 << 21, 1 << 21, 0, 0, 0))
expect("PR_CAP_AMBIENT_RAISE", call("prctl", 47, 2, 21, 0, 0))
