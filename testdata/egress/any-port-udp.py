# A rule for every port is for TCP.
# allow: 0.0.0.0/0:*
# log: kind=udp verdict=deny reason=udp|no_rule|port destination=93.184.216.35:9999
# off: host
from egress import *

verdict(udp("93.184.216.35", 9999))
