# A body that was announced with Expect: 100-continue and never came does not make a body of the next request.
# allow: shared.example
# wire: tcp 93.184.216.36:80
# never: Host: evil
# log: kind=http name=shared.example method=POST
# off: none, the rig's server takes it for a body, too
from egress import *

with connect(four("shared.example"), 80) as s:
    s.sendall(b"POST / HTTP/1.1\r\nHost: shared.example\r\nExpect: 100-continue\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    s.sendall(get("evil.example"))
    verdict(drain(s))
