# The host's ::1 is out of reach.
# needs: ipv6
# log: verdict=deny reason=blocked_address destination=[::1]:80
# off: host
from egress import *

verdict(tcp("::1", 80))
