# A rule for all addresses leaves private ones out: they have to be written out.
# allow: 0.0.0.0/0:80
# log: verdict=deny reason=blocked_address destination=10.1.2.3:80
# off: host
from egress import *

verdict(tcp("10.1.2.3", 80))
