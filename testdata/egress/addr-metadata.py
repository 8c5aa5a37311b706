# The metadata address is refused.
# log: verdict=deny reason=metadata destination=169.254.169.254:80
# off: host
from egress import *

verdict(tcp("169.254.169.254", 80))
