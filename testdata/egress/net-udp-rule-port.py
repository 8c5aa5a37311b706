# A rule for UDP is for its port.
# allow: udp://93.184.216.35:123
# log: kind=udp verdict=deny reason=port destination=93.184.216.35:443
# off: host
from egress import *

verdict(udp("93.184.216.35", 443, b"x"))
