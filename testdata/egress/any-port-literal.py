# A rule for every port of a name leads to it by its name, at each port, and not by its address.
# allow: tcp://good.example:*
# wire: tcp 93.184.216.34:5432
# log: kind=tcp verdict=allow name=good.example address=93.184.216.34:5432
# log: kind=tcp verdict=deny reason=no_rule destination=93.184.216.34:6379
# off: none, its server is a good one
from egress import *

with connect(four("good.example"), 5432) as s:
    got = s.recv(100)
if b"good" not in got:
    raise SystemExit("not reached")
got = tcp("93.184.216.34", 6379)
(escaped if b"good" in got else contained)(repr(got))
