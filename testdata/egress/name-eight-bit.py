# Bytes above 127 are no letters.
# log: kind=dns verdict=deny reason=name_invalid name=~example
# off: host
from egress import *

answered(ask(question(wire([b"g\xf6\xf6d", b"example"]))))
