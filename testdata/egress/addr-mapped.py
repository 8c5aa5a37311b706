# An IPv4 address in IPv6 clothes is the IPv4 address.
# needs: ipv6
# log: verdict=deny reason=no_rule destination=93.184.216.35:80
# off: host
from egress import *

verdict(tcp("::ffff:93.184.216.35", 80))
