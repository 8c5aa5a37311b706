# An upgrade to HTTP/2 is not passed on: its frames would not be checked.
# allow: shared.example
# wire: tcp 93.184.216.36:80
# never: h2c
# log: kind=http name=shared.example verdict=allow
# off: none, the rig's server speaks no h2c
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET / HTTP/1.1\r\nHost: shared.example\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"))
