# perf_event_open is refused.
# off: spec={"seccomp": "unconfined"}
import ctypes
import struct
from kernel import *

attr = ctypes.create_string_buffer(struct.pack("<IIQQQQQ", 1, 128, 0, 0, 0, 0, 0x60), 128)  # a software clock, user space only
expect("perf_event_open", call("perf_event_open", attr, 0, -1, -1, 0))
