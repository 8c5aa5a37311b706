# Sockets cannot be listed or destroyed by netlink.
# log: none, there is no socket to try it with
# off: none, the filter of system calls is the same
from egress import *

created("sock_diag", socket.AF_NETLINK, socket.SOCK_RAW, 4)
