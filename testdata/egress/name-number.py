# A number as a name is not looked up: inet_aton(3) of whoever asks next would read an address.
# log: kind=dns verdict=deny reason=name_invalid name=2130706433.evil.1
# off: host
from egress import *

answered(ask(question("2130706433.evil.1")))
