# A rule for all addresses leaves the 6to4 relay out.
# allow: 0.0.0.0/0:80
# log: verdict=deny reason=blocked_address destination=192.88.99.1:80
# off: host
from egress import *

verdict(tcp("192.88.99.1", 80))
