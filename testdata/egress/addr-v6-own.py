# The host's own IPv6 address is refused, though it is a public one.
# needs: ipv6
# allow: [::/0]:80
# log: verdict=deny reason=own_address destination=[2600:127::2]:80
# off: host
from egress import *

verdict(tcp("2600:127::2", 80))
