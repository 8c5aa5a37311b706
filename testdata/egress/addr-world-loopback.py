# A rule for all addresses leaves the host's loopback out.
# allow: 0.0.0.0/0:80
# log: verdict=deny reason=blocked_address destination=127.0.0.1:80
# off: host
from egress import *

verdict(tcp("127.0.0.1", 80))
