# A rule for one private address does not let an allowed name lead to another.
# allow: ten.example
# allow: 10.1.2.3/32:80
# log: kind=http verdict=deny reason=blocked_address name=ten.example port=80 address=10.0.0.1:80
# off: host
from egress import *

verdict(web("ten.example"))
