# The reverse of a synthetic address tells no names.
# log: kind=dns verdict=deny reason=no_rule name=1.0.18.198.in-addr.arpa
# off: host
from egress import *

answered(ask(question("1.0.18.198.in-addr.arpa", 12)))
