# A private address is refused.
# log: verdict=deny reason=blocked_address destination=10.0.0.1:80
# off: host
from egress import *

verdict(tcp("10.0.0.1", 80))
