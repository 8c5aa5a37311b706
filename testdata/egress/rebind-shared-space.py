# An allowed name that leads into the shared address space leads nowhere.
# allow: cgnat.example
# log: reason=blocked_address name=cgnat.example port=80 verdict=deny
# off: host
from egress import *

verdict(web("cgnat.example"))
