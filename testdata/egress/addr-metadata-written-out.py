# Not even a rule for its network opens the metadata address.
# allow: 169.254.0.0/16:80
# log: verdict=deny reason=metadata destination=169.254.169.254:80
# off: host
from egress import *

verdict(tcp("169.254.169.254", 80))
