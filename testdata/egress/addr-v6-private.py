# A unique local address is refused under a rule for all of IPv6.
# needs: ipv6
# allow: [::/0]:80
# log: verdict=deny reason=blocked_address destination=[fd00::1]:80
# off: host
from egress import *

verdict(tcp("fd00::1", 80))
