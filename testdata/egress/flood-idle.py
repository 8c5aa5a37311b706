# idle_timeout ends a connection without traffic.
# policy: {"allow": ["tcp://good.example:17000"], "idle_timeout": "1s"}
# wire: tcp 93.184.216.34:17000
# log: kind=tcp name=good.example reason=idle_timeout verdict=allow
# off: none, a flood is none of the host's network's business
from egress import *

with connect(four("good.example"), 17000, 20) as s:
    s.recv(100)
    verdict(drain(s))
