# A key of the caller cannot be read by its number, though its permissions may let the same uid of the host do so.
# args: $KEY
# setup: session-key
# unless: {"seccomp": "unconfined"}
# off: spec={"seccomp": "unconfined"}
# off: call=keyctl(KEYCTL_JOIN_SESSION_KEYRING
import ctypes
import sys
from kernel import *

buf = ctypes.create_string_buffer(64)
r = call("keyctl", 11, int(sys.argv[1]), buf, 64)
escaped(buf.value) if r > 0 else contained(name(r))
