# The payload cannot add a route.
# log: none, the kernel refuses it
# off: none, it takes a capability
from egress import *

s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
body = struct.pack("BBBBBBBBI", 2, 32, 0, 0, 255, 4, 0, 2, 0) + struct.pack("HH4s", 8, 1, socket.inet_aton("1.2.3.4")) + struct.pack("HHI", 8, 4, 1)
s.send(struct.pack("IHHII", 16 + len(body), 24, 0x405, 1, 0) + body)
code = -struct.unpack("i", s.recv(4096)[16:20])[0]
(contained if code == errno.EPERM else escaped)(f"RTM_NEWROUTE: {errno.errorcode.get(code, code)}")
