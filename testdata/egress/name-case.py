# Capitals do not make a denied name another one.
# log: kind=dns verdict=deny reason=no_rule name=evil.example
# off: host
from egress import *

verdict(web("EVIL.Example"))
