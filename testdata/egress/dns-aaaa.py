# AAAA has no answer: what a name is reached by is one synthetic address.
# allow: six.example
# log: none, an allowed name that has no such record is no attempt at anything
# off: host
from egress import *

answered(ask(question("six.example", 28)))
