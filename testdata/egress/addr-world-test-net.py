# A rule for all addresses leaves test networks out.
# allow: 0.0.0.0/0:80
# log: verdict=deny reason=blocked_address destination=203.0.113.1:80
# off: host
from egress import *

verdict(tcp("203.0.113.1", 80))
