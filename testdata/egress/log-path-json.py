# JSON in a path is refused, or written as text.
# allow: shared.example
# log: kind=http name=shared.example verdict=allow
# wire: tcp 93.184.216.36:80
# off: none, there is no log
from egress import *

verdict(tcp(four("shared.example"), 80, b'GET /","verdict":"x HTTP/1.1\r\nHost: shared.example\r\nConnection: close\r\n\r\n'))
