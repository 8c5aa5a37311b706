# So does Teredo.
# needs: ipv6
# allow: [::/0]:80
# log: verdict=deny reason=blocked_address destination=[2001::1]:80
# off: host
from egress import *

verdict(tcp("2001::1", 80))
