# A compression pointer in a question is refused.
# log: none, what is not one question names nothing that could be allowed
# off: none, the rig's server refuses it, too
from egress import *

answered(ask(question(b"\xc0\x0c")), False)
