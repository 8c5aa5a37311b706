# An allowed name that leads to Teredo leads nowhere.
# allow: teredo.example
# needs: ipv6
# log: reason=blocked_address name=teredo.example port=80 verdict=deny
# off: host
from egress import *

verdict(tcp("teredo.example", 80, get("teredo.example")))
