# CONNECT to the allowed site makes no tunnel either.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=method
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, b"CONNECT shared.example:80 HTTP/1.1\r\nHost: shared.example:80\r\n\r\n" + b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"))
