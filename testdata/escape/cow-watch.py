# Watches on the files of a cow mount tell nothing of what the host does with them.
# setup: host-toucher
# refusal: tmpfs has extended attributes of users only since Linux 6.6, and root's overlays need 5.19
# spec: {"mounts": [{"type": "cow", "source": "$DIR/in", "target": "/input"}]}
# off: spec={"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "writable": true}]}
import ctypes
import select
from kernel import *

fd = LIBC.inotify_init()
if fd < 0 or LIBC.inotify_add_watch(fd, b"/input/file", 0x20) < 0:  # IN_OPEN
    contained("no watch at all")
if select.select([fd], [], [], 0.25)[0]:
    escaped("the host's opening of the file was seen")
contained("nothing was seen")
