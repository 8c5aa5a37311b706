# Data in labels below an allowed name goes nowhere.
# log: kind=dns verdict=deny reason=no_rule name=c2vjcmv0.good.example
# off: host
from egress import *

verdict(web("c2VjcmV0.good.example"))
