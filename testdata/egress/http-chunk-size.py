# A chunk size with a sign or a prefix ends the request.
# allow: shared.example
# wire: tcp 93.184.216.36:80
# never: Host: evil
# log: kind=http name=shared.example verdict=deny reason=protocol
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 80, b"POST / HTTP/1.1\r\nHost: shared.example\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n" + b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"))
