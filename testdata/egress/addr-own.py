# The host's address on its uplink is refused.
# log: verdict=deny reason=blocked_address destination=100.127.0.2:80
# off: host
from egress import *

verdict(tcp("100.127.0.2", 80))
