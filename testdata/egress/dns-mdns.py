# Multicast DNS goes nowhere.
# log: none, the kernel drops a multicast datagram that nobody has joined for before any socket sees it
# off: none, the rig has no multicast router
from egress import *

verdict(udp("224.0.0.251", 5353, question("evil.example")))
