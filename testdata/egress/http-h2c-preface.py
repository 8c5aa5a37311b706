# The preface of HTTP/2 is not HTTP/1.
# allow: shared.example
# never: PRI
# log: kind=http verdict=deny name=shared.example reason=not_http
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 80, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"))
