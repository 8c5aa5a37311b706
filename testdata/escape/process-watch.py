# In the process tier directories of the host cannot be watched, for which Landlock has no right.
# spec: {"tier": "process"}
# args: $DIR
# off: change=no-guard
import os
import sys
from kernel import *

fd = call(294, 0)  # inotify_init1
if fd < 0:
    contained(f"inotify_init1: {name(fd)}")
expect("inotify_add_watch", call(254, fd, os.fsencode(sys.argv[1]) + b"\0", 0x100))
