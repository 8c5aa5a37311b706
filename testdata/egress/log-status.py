# A response that claims many statuses is logged by its first line.
# allow: shared.example
# log: kind=http verdict=allow name=shared.example status=404
# wire: tcp 93.184.216.36:80
# off: none, there is no log
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET /status/404 HTTP/1.1\r\nHost: shared.example\r\nConnection: close\r\n\r\n"))
