# A name of 253 characters that ends in an allowed one fits, and is denied.
# log: kind=dns verdict=deny reason=no_rule name=~aaaaaaaa.good.example|~...+
# off: host
from egress import *

answered(ask(question(".".join(["a" * 63] * 3 + ["a" * 48]) + ".good.example")))
