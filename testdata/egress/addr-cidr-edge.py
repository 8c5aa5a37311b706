# A rule for a network ends where the network ends.
# allow: 10.1.2.4/30:5432
# log: verdict=deny reason=blocked_address destination=10.1.2.3:5432
# off: host
from egress import *

verdict(tcp("10.1.2.3", 5432))
