# An allowed name that leads to a synthetic address does not go round in circles.
# allow: bench.example
# log: reason=blocked_address name=bench.example port=80 verdict=deny
# off: host
from egress import *

verdict(web("bench.example"))
