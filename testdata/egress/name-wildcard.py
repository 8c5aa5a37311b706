# A wildcard stands for whole labels.
# allow: *.many.example
# log: kind=dns verdict=deny reason=no_rule name=xmany.example
# off: host
from egress import *

verdict(web("xmany.example"))
