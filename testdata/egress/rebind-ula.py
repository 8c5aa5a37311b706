# An allowed name that leads to a unique local address leads nowhere.
# allow: ula.example
# needs: ipv6
# log: reason=blocked_address name=ula.example port=80 verdict=deny
# off: host
from egress import *

verdict(tcp("ula.example", 80, get("ula.example")))
