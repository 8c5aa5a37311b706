# An allowed name does not lead to the host's own IPv6 address.
# allow: own6.example
# needs: ipv6
# log: reason=own_address name=own6.example port=80 verdict=deny
# off: host
from egress import *

verdict(tcp("own6.example", 80, get("own6.example")))
