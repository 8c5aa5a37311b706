# Metadata is refused by UDP, too.
# allow: udp://169.254.0.0/16:123
# log: kind=udp verdict=deny reason=metadata destination=169.254.169.254:123
# off: host
from egress import *

verdict(udp("169.254.169.254", 123))
