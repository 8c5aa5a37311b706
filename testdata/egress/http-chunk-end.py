# What follows the last chunk is not sent on: a request with a body is the last of its connection.
# allow: shared.example
# wire: tcp 93.184.216.36:80
# never: evil.example
# log: kind=http verdict=allow name=shared.example host=shared.example method=POST
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, b"POST / HTTP/1.1\r\nHost: shared.example\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"))
