# An allowed name that leads to a multicast address leads nowhere.
# allow: multi.example
# log: reason=blocked_address name=multi.example port=80 verdict=deny
# off: none, nobody answers there
from egress import *

verdict(web("multi.example"))
