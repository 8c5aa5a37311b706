# The rules of the jail's own packet filter cannot be reached.
# log: none, there is no socket to try it with
# off: none, the filter of system calls is the same
from egress import *

created("netfilter", socket.AF_NETLINK, socket.SOCK_RAW, 12)
