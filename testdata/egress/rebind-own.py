# An allowed name does not lead to the host's own address.
# allow: own.example
# log: reason=blocked_address name=own.example port=80 verdict=deny
# off: host
from egress import *

verdict(web("own.example"))
