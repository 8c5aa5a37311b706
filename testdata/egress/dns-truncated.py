# A message that ends within its question is no question.
# log: none, there is no whole question in it
# off: none, the rig's server refuses it, too
from egress import *

answered(ask(question("evil.example")[:20], wait=1), False)
