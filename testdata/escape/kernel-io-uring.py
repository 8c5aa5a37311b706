# io_uring_setup is refused: its operations pass no filter.
# off: spec={"seccomp": "unconfined"}
import ctypes
from kernel import *

expect("io_uring_setup", call("io_uring_setup", 1, ctypes.create_string_buffer(256)))
