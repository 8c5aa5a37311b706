# There is no socket of the kernel's ciphers.
# log: none, there is no socket to try it with
# off: none, the filter of system calls is the same
from egress import *

created("alg", 38, socket.SOCK_SEQPACKET, 0)
