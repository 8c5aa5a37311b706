# No other network namespace can be entered.
# log: none, the kernel refuses it
# off: none, the filter of system calls is the same
from egress import *

try:
    fd = os.open("/proc/1/ns/net", os.O_RDONLY)
    r = call("setns", fd, 0x40000000)
except OSError as e:
    contained(repr(e))
(escaped if r == 0 else contained)(f"setns: {r}")
