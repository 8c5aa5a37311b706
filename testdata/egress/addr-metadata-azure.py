# Azure's metadata address looks public, and is refused.
# allow: 168.0.0.0/8:80
# log: verdict=deny reason=metadata destination=168.63.129.16:80
# off: host
from egress import *

verdict(tcp("168.63.129.16", 80))
