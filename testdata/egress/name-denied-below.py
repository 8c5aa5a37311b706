# A wildcard in a deny rule wins over a wider allow rule.
# allow: *.example
# deny: *.evil.example
# log: kind=dns verdict=deny reason=denied name=a.b.evil.example
# off: host
from egress import *

verdict(web("a.b.evil.example"))
