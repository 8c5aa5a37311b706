# In the process tier no socket of any family can be made without --net host.
# spec: {"tier": "process"}
# off: spec={"net": "host"}
import socket
from kernel import *

for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_UNIX, 40, 38):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(family, kind)
            escaped(f"family {family}, type {kind}")
        except OSError:
            pass
contained("none")
