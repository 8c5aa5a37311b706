# Site-local addresses are private, though long retired.
# needs: ipv6
# allow: [::/0]:80
# log: verdict=deny reason=blocked_address destination=[fec0::1]:80
# off: host
from egress import *

verdict(tcp("fec0::1", 80))
