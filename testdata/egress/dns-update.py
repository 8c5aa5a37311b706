# A dynamic update is not implemented.
# log: none, what is not a question names nothing that could be allowed
# off: none, the rig's server has no updates
from egress import *

answered(ask(question("good.example", 6, flags=0x2800)), False)
