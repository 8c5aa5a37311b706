# An allowed name does not lead to the host's ::1.
# allow: loop6.example
# needs: ipv6
# log: reason=blocked_address name=loop6.example port=80 verdict=deny
# off: host
from egress import *

verdict(tcp("loop6.example", 80, get("loop6.example")))
