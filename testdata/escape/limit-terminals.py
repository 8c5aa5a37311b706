# One jail takes a small part of the machine's pseudo-terminals.
# off: call="max", "64"
import os
from kernel import *

got = 0
try:
    while got < 70:
        os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
        got += 1
except OSError as e:
    contained(f"{got}, then {e}")
escaped(f"{got} and more")
