# The host's loopback is out of reach.
# log: verdict=deny reason=blocked_address destination=127.0.0.53:80
# off: host
from egress import *

verdict(tcp("127.0.0.53", 80))
