# The payload has no listener of a filter, not even init's: it can answer for no call, and hold no process of the jail in one.
# unless: {"no_init": true}
# off: spec={"seccomp": "unconfined"}
import ctypes
import errno
import os
import struct
from kernel import *

for fd in range(300):
    try:
        if "seccomp" in os.readlink(f"/proc/self/fd/{fd}"):
            escaped(f"descriptor {fd} is a listener")
    except OSError:
        pass
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))  # BPF_RET: SECCOMP_RET_ALLOW
program = struct.pack("H6xQ", 1, ctypes.addressof(allow))
expect("SECCOMP_FILTER_FLAG_NEW_LISTENER", call(317, 1, 8, program), errno.EBUSY, errno.EPERM)
