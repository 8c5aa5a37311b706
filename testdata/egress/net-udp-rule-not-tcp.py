# A rule for UDP allows no TCP.
# allow: udp://93.184.216.35:9000
# log: verdict=deny reason=no_rule destination=93.184.216.35:9000
# off: host
from egress import *

verdict(tcp("93.184.216.35", 9000))
