# A rule for all addresses leaves 240.0.0.0/4 out.
# allow: 0.0.0.0/0:80
# log: verdict=deny reason=blocked_address destination=240.0.0.1:80
# off: host
from egress import *

verdict(tcp("240.0.0.1", 80))
