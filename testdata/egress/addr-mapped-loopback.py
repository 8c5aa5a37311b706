# So is loopback.
# needs: ipv6
# log: verdict=deny reason=blocked_address destination=127.0.0.1:80
# off: host
from egress import *

verdict(tcp("::ffff:127.0.0.1", 80))
