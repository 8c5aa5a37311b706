# A rule for every port of every address leaves the host's own out.
# allow: 0.0.0.0/0:*
# log: kind=tcp verdict=deny reason=own_address destination=93.184.217.2:6379
# off: host
from egress import *

verdict(tcp("93.184.217.2", 6379))
