# The terminal that the caller passes has its modes, line discipline and owner again when the jail has ended.
# setup: terminal
# off: change=same-files
import os
import termios
from kernel import *

modes = termios.tcgetattr(0)
modes[3] &= ~(termios.ECHO | termios.ICANON)
modes[6][termios.VINTR] = b"e"
termios.tcsetattr(0, termios.TCSANOW, modes)
call("ioctl", 0, 0x5423, b"\x1b\0\0\0")  # TIOCSETD, N_NULL
try:
    os.fchmod(0, 0o666)
except OSError:
    pass
contained("the caller looks at its terminal")
