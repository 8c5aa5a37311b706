# max_connection_bytes ends a connection.
# policy: {"allow": ["good.example"], "max_connection_bytes": 100000}
# wire: tcp 93.184.216.34:80
# log: kind=http name=good.example reason=max_bytes verdict=allow
# off: none, a flood is none of the host's network's business
from egress import *

got = tcp(four("good.example"), 80, b"GET /bytes/10000000 HTTP/1.1\r\nHost: good.example\r\n\r\n")
(contained if len(got) <= 120000 else escaped)(f"{len(got)} bytes")
