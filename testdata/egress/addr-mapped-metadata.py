# So is metadata, under a rule for all addresses.
# needs: ipv6
# allow: 0.0.0.0/0:80
# allow: [::/0]:80
# log: verdict=deny reason=metadata destination=169.254.169.254:80
# off: host
from egress import *

verdict(tcp("::ffff:169.254.169.254", 80))
