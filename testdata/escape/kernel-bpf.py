# bpf is refused before the kernel looks at its arguments.
# off: spec={"seccomp": "unconfined"}
import ctypes
from kernel import *

expect("bpf", call("bpf", 0, ctypes.create_string_buffer(64), 1 << 20))
