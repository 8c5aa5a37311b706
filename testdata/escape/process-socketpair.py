# In the process tier no pair of datagram sockets can be made: each could send to any path of the host, such as /dev/log.
# spec: {"tier": "process"}
# off: change=no-guard
import socket
from kernel import *

a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
a.send(b"x")
denied("a pair of datagram sockets", socket.socketpair, socket.AF_UNIX, socket.SOCK_DGRAM)
