# An allowed name that leads to a reserved address leads nowhere.
# allow: class-e.example
# log: reason=blocked_address name=class-e.example port=80 verdict=deny
# off: host
from egress import *

verdict(web("class-e.example"))
