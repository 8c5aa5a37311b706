# Neither is a hexadecimal one.
# log: kind=dns verdict=deny reason=name_invalid name=0x7f000001
# off: host
from egress import *

answered(ask(question("0x7f000001")))
