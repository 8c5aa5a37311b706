# Connections that say nothing hold their places for a bounded time only, and then there is room again.
# policy: {"allow": ["shared.example"], "max_connections": 20}
# wire: tcp 93.184.216.36:80
# log: kind=http verdict=deny name=shared.example reason=slow times=20
# log: verdict=deny reason=max_connections name=shared.example times=*
# log: kind=http verdict=allow name=shared.example status=200
# off: none, a flood is none of the host's network's business
import time
from egress import *

to = four("shared.example")
held = [connect(to, 80) for _ in range(20)]
if tcp(to, 80, get("shared.example")).startswith(b"HTTP/1.1 200"):
    escaped("a place too many")
for _ in range(60):
    time.sleep(0.5)
    got = tcp(to, 80, get("shared.example"))
    if got.startswith(b"HTTP/1.1 200"):
        contained("there is room again")
escaped("no room after half a minute")
