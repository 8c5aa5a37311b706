# A name that is written with the escapes of a zone file is not unescaped.
# log: kind=dns verdict=deny reason=name_invalid name=~good
# off: host
from egress import *

answered(ask(question(wire([b"good\\046example"]))))
