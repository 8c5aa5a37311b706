# HTTP/1.0 has no transfer codings: a request with one is refused.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=protocol
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 80, b"POST / HTTP/1.0\r\nHost: shared.example\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"))
