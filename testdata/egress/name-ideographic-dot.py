# An ideographic full stop is no dot.
# log: kind=dns verdict=deny reason=name_invalid name=~good
# off: host
from egress import *

answered(ask(question(wire(["good\u3002example".encode()]))))
