# TIOCLINUX, which pastes into a console, is refused before a driver sees it.
# setup: terminal
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("TIOCLINUX", call("ioctl", 0, 0x541C, b"\2\0"))
