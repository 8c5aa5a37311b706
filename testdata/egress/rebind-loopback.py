# An allowed name that leads to loopback does not lead to the host's.
# allow: loop.example
# log: reason=blocked_address name=loop.example port=80 verdict=deny
# off: host
from egress import *

verdict(web("loop.example"))
