# An IPv6 address that no rule names is refused.
# needs: ipv6
# log: verdict=deny reason=no_rule destination=[2606:4700::35]:80
# off: host
from egress import *

verdict(tcp("2606:4700::35", 80))
