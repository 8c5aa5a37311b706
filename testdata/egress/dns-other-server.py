# A name server of the payload's own choice is the jail's responder, too.
# log: kind=dns verdict=deny reason=no_rule name=evil.example
# off: host
from egress import *

answered(ask(question("evil.example"), "1.1.1.1"))
