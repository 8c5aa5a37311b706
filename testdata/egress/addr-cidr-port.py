# A rule for an address is for its ports.
# allow: 93.184.216.35:80
# log: verdict=deny reason=port destination=93.184.216.35:22
# off: host
from egress import *

verdict(tcp("93.184.216.35", 22))
