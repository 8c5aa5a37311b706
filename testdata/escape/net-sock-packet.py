# SOCK_PACKET, the old name by which AF_INET gives a packet socket, is refused.
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("SOCK_PACKET", call("socket", 2, 10, 0x0300))
