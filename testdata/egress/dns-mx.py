# An MX record of an allowed name is not asked for outside.
# log: none, an allowed name that has no such record is no attempt at anything
# off: host
from egress import *

answered(ask(question("good.example", 15)))
