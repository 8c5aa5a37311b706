# HTTPS records, which carry keys that would hide the server name, have no answer.
# log: none, an allowed name that has no such record is no attempt at anything
# off: host
from egress import *

answered(ask(question("good.example", 65)))
