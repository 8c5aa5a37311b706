# A name that no rule allows does not resolve.
# log: kind=dns verdict=deny reason=no_rule name=evil.example
# off: host
from egress import *

verdict(web("evil.example"))
