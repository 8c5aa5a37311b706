# The settings of the jail's network cannot be written.
# log: none, the kernel refuses it
# off: none, it takes a capability
from egress import *

denied("open", open, "/proc/sys/net/ipv4/ip_forward", "w")
