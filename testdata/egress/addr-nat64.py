# NAT64 leads back to IPv4, and is refused.
# needs: ipv6
# allow: [::/0]:80
# log: verdict=deny reason=blocked_address destination=[64:ff9b::5db8:d823]:80
# off: host
from egress import *

verdict(tcp("64:ff9b::5db8:d823", 80))
