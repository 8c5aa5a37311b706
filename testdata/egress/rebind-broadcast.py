# An allowed name that leads to the broadcast address leads nowhere.
# allow: broadcast.example
# log: reason=blocked_address name=broadcast.example port=80 verdict=deny
# off: none, nobody answers there
from egress import *

verdict(web("broadcast.example"))
