# A message with two questions is refused as a whole.
# log: none, what is not one question names nothing that could be allowed
# off: none, the rig's server reads the first question only
from egress import *

answered(ask(question("good.example", more=wire("evil.example") + b"\0\1\0\1", counts=(2, 0, 0, 0))), False)
