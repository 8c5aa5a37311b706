# A name with a right-to-left override is written as text.
# log: kind=dns verdict=deny reason=name_invalid
# off: none, there is no log
from egress import *

answered(ask(question(wire(["\u202eelpmaxe".encode(), b"example"]))))
