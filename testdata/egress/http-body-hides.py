# A request in a body that is announced is a body.
# allow: shared.example
# wire: tcp 93.184.216.36:80
# log: kind=http verdict=allow name=shared.example host=shared.example method=POST
# off: none, the rig's server takes it for a body, too
from egress import *

verdict(tcp(four("shared.example"), 80, b"POST / HTTP/1.1\r\nHost: shared.example\r\nContent-Length: 46\r\nConnection: close\r\n\r\n" + b"GET / HTTP/1.1\r\nHost: hidden.example\r\nA: b\r\n\r\n"[:46]))
