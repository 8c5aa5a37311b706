# max_bytes ends all connections.
# policy: {"allow": ["tcp://good.example:80"], "max_bytes": 100000}
# wire: tcp 93.184.216.34:80
# log: kind=tcp verdict=allow|deny name=good.example times=4
# off: none, a flood is none of the host's network's business
from egress import *

got = 0
for _ in range(4):
    got += len(tcp(four("good.example"), 80, b"GET /bytes/60000 HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\n\r\n"))
(contained if got <= 140000 else escaped)(f"{got} bytes")
