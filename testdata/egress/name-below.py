# A name below an allowed one is not allowed: only a wildcard would say so.
# log: kind=dns verdict=deny reason=no_rule name=www.good.example
# off: host
from egress import *

verdict(web("www.good.example"))
