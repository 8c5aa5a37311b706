# A NUL in a label does not end the name: good.example stays a label of somebody else's.
# log: kind=dns verdict=deny reason=name_invalid name=~good
# off: host
from egress import *

answered(ask(question(wire([b"good.example\0", b"evil", b"example"]))))
