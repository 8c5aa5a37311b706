# A name below an allowed wildcard is answered here: its owner hears of a connection, not of a question.
# allow: *.many.example
# log: none, the name is allowed and nothing was connected
# off: host
from egress import *

answered(ask(question("c2VjcmV0.many.example")))
