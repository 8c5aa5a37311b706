# The payload has a session keyring of its own: the caller's keys are not in it, filter or no filter.
# setup: session-key
# spec: {"seccomp": "unconfined"}
# off: call=keyctl(KEYCTL_JOIN_SESSION_KEYRING
import ctypes
from kernel import *

key = call("keyctl", 10, -3, b"user\0", b"brig-escape\0", 0)  # KEYCTL_SEARCH in the session keyring
buf = ctypes.create_string_buffer(64)
r = call("keyctl", 11, key, buf, 64) if key > 0 else key
escaped(buf.value) if r > 0 else contained(name(r))
