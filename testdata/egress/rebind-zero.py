# An allowed name that leads to 0.0.0.0 does not lead to the host.
# allow: zero.example
# log: reason=blocked_address name=zero.example port=80 verdict=deny
# off: host
from egress import *

verdict(web("zero.example"))
