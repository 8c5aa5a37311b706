# localhost is the jail's own loopback, not the host's.
# log: reason=blocked_address destination=127.0.0.1:80 verdict=deny
# off: host
from egress import *

verdict(tcp("127.0.0.1", 80, get("localhost")))
