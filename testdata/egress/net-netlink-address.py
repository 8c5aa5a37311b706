# The payload cannot add an address.
# log: none, the kernel refuses it
# off: none, it takes a capability
from egress import *

s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
body = struct.pack("BBBBI", 2, 32, 0, 0, 1) + struct.pack("HH4s", 8, 2, socket.inet_aton("1.2.3.4"))
s.send(struct.pack("IHHII", 16 + len(body), 20, 0x405, 1, 0) + body)
code = -struct.unpack("i", s.recv(4096)[16:20])[0]
(contained if code == errno.EPERM else escaped)(f"RTM_NEWADDR: {errno.errorcode.get(code, code)}")
