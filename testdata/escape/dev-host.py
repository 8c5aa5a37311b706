# The jail's /dev has no disk, no kernel log and no memory of the host.
# off: bind=/dev
import os
from kernel import *

want = {"null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "ptmx", "pts", "shm"}
more = set(os.listdir("/dev")) - want
escaped(sorted(more)[:9]) if more else contained("only the standard devices")
