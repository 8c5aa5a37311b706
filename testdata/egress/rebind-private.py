# An allowed name that leads to a private address leads nowhere.
# allow: ten.example
# log: reason=blocked_address name=ten.example port=80 verdict=deny
# off: host
from egress import *

verdict(web("ten.example"))
