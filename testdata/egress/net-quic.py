# QUIC to port 443 goes nowhere: its server name would not be seen.
# log: kind=udp verdict=deny reason=udp destination=93.184.216.35:443
# off: host
from egress import *

verdict(udp("93.184.216.35", 443, b"\xc3\0\0\0\1" + b"q" * 1200))
