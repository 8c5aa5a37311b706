# A user and network namespace of the payload's own is refused.
# log: none, the filter of system calls refuses it
# off: none, the filter of system calls is the same
from egress import *

r = call("unshare", 0x50000000)
(escaped if r == 0 else contained)(f"unshare: {r}")
