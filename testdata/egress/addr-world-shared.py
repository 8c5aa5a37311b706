# A rule for all addresses leaves the shared address space out.
# allow: 0.0.0.0/0:80
# log: verdict=deny reason=blocked_address destination=100.64.0.1:80
# off: host
from egress import *

verdict(tcp("100.64.0.1", 80))
