# TIOCSTI cannot type a command into the terminal that the caller gave as stdin (CVE-2017-5226).
# setup: terminal
# off: spec={"seccomp": "unconfined"}
import os
from kernel import *


def inject():
    os.setsid()
    call("ioctl", 0, 0x540E, 0)  # TIOCSCTTY
    return -call("ioctl", 0, 0x5412, b"x\0")


status = os.waitstatus_to_exitcode(in_child(inject))
contained(name(-status)) if status == 1 else escaped(f"TIOCSTI gave {name(-status)}")
