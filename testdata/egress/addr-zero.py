# 0.0.0.0 is this host, and this host is the jail.
# log: verdict=deny reason=blocked_address port=80
# off: host
from egress import *

verdict(tcp("0.0.0.0", 80))
