# An escape sequence in a path is refused, or written as text.
# allow: shared.example
# log: kind=http name=shared.example verdict=deny reason=protocol
# wire: tcp 93.184.216.36:80
# off: none, there is no log
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET /\x1b[2J HTTP/1.1\r\nHost: shared.example\r\nConnection: close\r\n\r\n"))
