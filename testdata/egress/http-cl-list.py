# A list of lengths is refused.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=protocol
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 80, b"POST / HTTP/1.1\r\nHost: shared.example\r\nContent-Length: 0, 46\r\n\r\n" + b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"))
