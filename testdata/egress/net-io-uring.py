# io_uring, whose connect(2) no filter sees, does not exist.
# log: none, there is no ring to try it with
# off: none, the filter of system calls is the same
from egress import *

r = call("io_uring_setup", 8, b"\0" * 120)
(escaped if r >= 0 else contained)(f"io_uring_setup: {r}")
