# An allowed name that leads to NAT64 leads nowhere.
# allow: nat64.example
# needs: ipv6
# log: reason=blocked_address name=nat64.example port=80 verdict=deny
# off: host
from egress import *

verdict(tcp("nat64.example", 80, get("nat64.example")))
