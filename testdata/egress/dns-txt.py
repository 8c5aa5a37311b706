# TXT of an allowed name is answered with nothing, and nobody outside hears the question.
# log: none, an allowed name that has no such record is no attempt at anything
# off: host
from egress import *

answered(ask(question("good.example", 16)))
