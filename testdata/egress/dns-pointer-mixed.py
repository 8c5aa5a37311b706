# A name that ends in a pointer to itself does not keep the responder busy.
# log: kind=dns verdict=deny reason=no_rule name=evil.example
# off: host
from egress import *

ask(question(b"\4good\xc0\x0c"), wait=1)
reply = ask(question("evil.example"))
answered(reply)
