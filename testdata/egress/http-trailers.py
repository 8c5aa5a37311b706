# Trailers do not bring a second Host to the server.
# allow: shared.example
# wire: tcp 93.184.216.36:80
# never: evil.example
# log: kind=http name=shared.example method=POST
# off: none, the rig's server does not look at trailers
from egress import *

verdict(tcp(four("shared.example"), 80, b"POST / HTTP/1.1\r\nHost: shared.example\r\nTransfer-Encoding: chunked\r\nTrailer: Host\r\n"
            b"Connection: close\r\n\r\n0\r\nHost: evil.example\r\n\r\n"))
