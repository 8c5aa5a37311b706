# A space around an allowed name is not trimmed.
# log: kind=dns verdict=deny reason=name_invalid name=~good
# off: host
from egress import *

answered(ask(question(wire([b"good", b"example "]))))
