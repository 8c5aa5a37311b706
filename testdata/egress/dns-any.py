# ANY gives no more than A does.
# log: none, an allowed name that has no such record is no attempt at anything
# off: host
from egress import *

answered(ask(question("good.example", 255)))
