# A message that is a response gets none: two servers would talk for ever.
# log: none, it asks nothing
# off: host
from egress import *

answered(ask(question("evil.example", flags=0x8180), wait=1), False)
