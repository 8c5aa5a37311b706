# perf_event_open is refused before the kernel looks at its arguments.
# off: spec={"seccomp": "unconfined"}
import ctypes
import struct
from kernel import *

attr = ctypes.create_string_buffer(struct.pack("<II", 1, 1 << 20), 128)  # E2BIG, before any check of rights
expect("perf_event_open", call("perf_event_open", attr, 0, -1, -1, 0))
