# Multicasts go nowhere.
# log: none, the kernel drops a multicast datagram that nobody has joined for before any socket sees it
# off: none, the rig has no multicast router
from egress import *

verdict(udp("239.1.2.3", 9999))
