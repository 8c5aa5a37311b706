# A name that the host's resolver does not answer for is given up.
# policy: {"allow": ["tcp://silent.example:80"], "connect_timeout": "3s"}
# log: verdict=error reason=resolve_failed name=silent.example
# off: none, a flood is none of the host's network's business
from egress import *

verdict(tcp(four("silent.example"), 80, wait=20))
