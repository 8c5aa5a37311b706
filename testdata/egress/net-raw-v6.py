# There is no raw socket of IPv6.
# log: none, there is no socket to try it with
# off: none, it takes a capability
from egress import *

created("raw", socket.AF_INET6, socket.SOCK_RAW, 58)
