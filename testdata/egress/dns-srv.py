# An SRV record cannot lead to another host and port.
# log: kind=dns verdict=deny reason=no_rule name=_http._tcp.good.example
# off: host
from egress import *

answered(ask(question("_http._tcp.good.example", 33)))
