# TCP_REPAIR, which would forge a connection, takes a capability.
# log: none, the option is refused
# off: none, it takes a capability
from egress import *

denied("setsockopt", socket.socket().setsockopt, socket.IPPROTO_TCP, 19, 1)
