# A rule for all addresses leaves metadata out.
# allow: 0.0.0.0/0:80
# log: verdict=deny reason=metadata destination=169.254.169.254:80
# off: host
from egress import *

verdict(tcp("169.254.169.254", 80))
