# A denied name is denied by TCP, too.
# log: kind=dns verdict=deny reason=no_rule name=evil.example
# off: host
from egress import *

answered(ask_tcp(question("evil.example")))
