# The server's version, class CHAOS, is refused.
# log: kind=dns verdict=deny reason=protocol name=version.bind
# off: host
from egress import *

answered(ask(question("version.bind", 16, 3)), False)
