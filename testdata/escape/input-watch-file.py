# Watches on a file that is shared by itself tell nothing of what the host does with it: it is a private copy.
# setup: host-toucher
# spec: {"mounts": [{"type": "bind", "source": "$DIR/in/file", "target": "/input/file"}]}
# off: spec={"mounts": [{"type": "bind", "source": "$DIR/in/file", "target": "/input/file", "live": true}]}
import ctypes
import select
from kernel import *

fd = LIBC.inotify_init()
if fd < 0 or LIBC.inotify_add_watch(fd, b"/input/file", 0x20) < 0:  # IN_OPEN
    contained("no watch at all")
if select.select([fd], [], [], 0.25)[0]:
    escaped("the host's opening of the file was seen")
contained("nothing was seen")
