# SO_MARK, which would choose another routing table, takes a capability.
# log: none, the option is refused
# off: none, it takes a capability
from egress import *

denied("setsockopt", socket.socket().setsockopt, socket.SOL_SOCKET, 36, 1)
