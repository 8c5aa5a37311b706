# An allowed name that leads to 6to4 leads nowhere.
# allow: sixtofour.example
# needs: ipv6
# log: reason=blocked_address name=sixtofour.example port=80 verdict=deny
# off: host
from egress import *

verdict(tcp("sixtofour.example", 80, get("sixtofour.example")))
