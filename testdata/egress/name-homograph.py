# A Cyrillic letter in an allowed name makes another name, in whichever form it is asked.
# log: kind=dns verdict=deny reason=no_rule name=xn--gd-jbca.example
# off: host
from egress import *

verdict(web("xn--gd-jbca.example"))
