# A rule for UDP is for its address.
# allow: udp://93.184.216.34:123
# log: kind=udp verdict=deny reason=udp destination=93.184.216.35:123
# off: host
from egress import *

verdict(udp("93.184.216.35", 123, b"\x1b" + b"\0" * 47))
