# An allowed name that leads to a mapped private address leads nowhere.
# allow: mapped.example
# needs: ipv6
# log: reason=blocked_address name=mapped.example port=80 verdict=deny
# off: host
from egress import *

verdict(tcp("mapped.example", 80, get("mapped.example")))
