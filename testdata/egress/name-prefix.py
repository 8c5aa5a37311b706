# A name that ends in an allowed one without a dot between is another name.
# log: kind=dns verdict=deny reason=no_rule name=notgood.example
# off: host
from egress import *

verdict(web("notgood.example"))
