# With a rule for every port the payload's own servers stay its own.
# allow: [::/0]:*
# allow: 0.0.0.0/0:*
# log: none, nothing leaves
# off: none, it is no attack
from egress import *

for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
    try:
        server = socket.create_server((host, 18080), family=family)
    except OSError:
        continue  # no IPv6
    c = connect(host, 18080)
    s, _ = server.accept()
    s.sendall(b"own")
    got = c.recv(10)
    if got != b"own":
        escaped(repr(got))
contained("own")
