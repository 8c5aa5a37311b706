# A dot inside a label does not make two of it.
# log: kind=dns verdict=deny reason=name_invalid name=~good|good.example
# off: host
from egress import *

answered(ask(question(wire([b"good.example"]))))
