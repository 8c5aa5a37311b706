# A slash in a name does not end it.
# log: kind=dns verdict=deny reason=name_invalid name=~good
# off: host
from egress import *

answered(ask(question(wire([b"good.example/", b"evil", b"example"]))))
