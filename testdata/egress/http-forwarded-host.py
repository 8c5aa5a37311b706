# X-Forwarded-Host is the server's business, and the request is logged under its Host.
# allow: shared.example
# wire: tcp 93.184.216.36:80
# log: kind=http verdict=allow name=shared.example host=shared.example
# off: none, the rig's server does not look at it
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET / HTTP/1.1\r\nHost: shared.example\r\nX-Forwarded-Host: evil.example\r\nConnection: close\r\n\r\n"))
