# A server of the payload's own on another port is its own business, and works.
# log: none, nothing leaves
# off: none, it is no attack
from egress import *

server = socket.create_server(("127.0.0.1", 18080))
c = connect("127.0.0.1", 18080)
s, _ = server.accept()
s.sendall(b"own")
got = c.recv(10)
(contained if got == b"own" else escaped)(repr(got))
