# A rule for every port of every address does not lead to the host's loopback.
# allow: 0.0.0.0/0:*
# log: none, what goes to the jail's own loopback at a port without a listener is refused by the kernel
# off: host
from egress import *

verdict(tcp("127.0.0.1", 6379))
