# There is no TIPC socket.
# log: none, there is no socket to try it with
# off: none, the filter of system calls is the same
from egress import *

created("tipc", 30, socket.SOCK_STREAM, 0)
