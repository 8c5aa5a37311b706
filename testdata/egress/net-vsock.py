# There is no vsock socket, which no network namespace confines.
# log: none, there is no socket to try it with
# off: none, the filter of system calls is the same
from egress import *

created("vsock", 40, socket.SOCK_STREAM, 0)
