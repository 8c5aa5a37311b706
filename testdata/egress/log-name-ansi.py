# A terminal's escape sequence in a name is written as text.
# log: kind=dns verdict=deny reason=name_invalid
# off: none, there is no log
from egress import *

answered(ask(question(wire([b"\x1b[2J\x1b[31mred", b"\x9bm", b"example"]))))
