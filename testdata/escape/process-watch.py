# In the process tier directories of the host cannot be watched, for which Landlock has no right.
# spec: {"tier": "process"}
# args: $DIR
# off: change=no-guard
import os
import sys
from kernel import *

fd = call(294, 0)  # inotify_init1
watched = ["inotify"] if fd >= 0 and call(254, fd, os.fsencode(sys.argv[1]) + b"\0", 0x100) >= 0 else []
usr = os.open("/usr", os.O_RDONLY | os.O_DIRECTORY)
watched += [f"F_NOTIFY, {high:#x}" for high in (0, 0xDEAD << 32) if call(72, usr, 1026 | high, 4) >= 0]
escaped(watched) if watched else contained("refused")
