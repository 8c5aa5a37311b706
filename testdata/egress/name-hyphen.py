# A label that begins with a hyphen is not a host name.
# log: kind=dns verdict=deny reason=name_invalid name=-good.example
# off: host
from egress import *

answered(ask(question("-good.example")))
