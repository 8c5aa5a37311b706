# Garbage above the low 32 bits of the request does not hide TIOCSTI from the filter.
# setup: terminal
# off: spec={"seccomp": "unconfined"}
import os
from kernel import *


def inject():
    os.setsid()
    call("ioctl", 0, 0x540E, 0)
    return -call("ioctl", 0, 0x5412 | 0xDEAD << 32, b"x\0")


status = os.waitstatus_to_exitcode(in_child(inject))
contained(name(-status)) if status == 1 else escaped(f"TIOCSTI gave {name(-status)}")
