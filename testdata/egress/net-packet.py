# There is no packet socket.
# log: none, there is no socket to try it with
# off: none, it takes a capability
from egress import *

created("packet", socket.AF_PACKET, socket.SOCK_RAW, 0x300)
