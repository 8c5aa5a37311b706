# A zone transfer is refused.
# log: kind=dns verdict=deny reason=protocol name=good.example
# off: host
from egress import *

answered(ask_tcp(question("good.example", 252)), False)
