# A name that looks like a line of the log is text in a line of the log.
# log: kind=dns verdict=deny reason=name_invalid
# off: none, there is no log
from egress import *

answered(ask(question(wire([b'x"}\n{"verdict":"allow","kind":"tcp"}\n', b"example"]))))
