# An allowed name allows no UDP.
# log: kind=udp verdict=deny reason=udp port=443
# off: none, its server is a good one
from egress import *

verdict(udp(four("good.example"), 443, b"quic"))
