# There is no SMC socket.
# log: none, there is no socket to try it with
# off: none, the filter of system calls is the same
from egress import *

created("smc", 43, socket.SOCK_STREAM, 0)
