# Watches on /usr tell nothing of which programs the host or another jail starts.
# setup: usr-toucher
# off: spec={"rootfs": {"system": "shared"}}
import ctypes
import select
from kernel import *

fd = LIBC.inotify_init()
if fd < 0 or LIBC.inotify_add_watch(fd, b"/usr/bin/tty", 0x20) < 0:  # IN_OPEN
    contained("no watch at all")
if select.select([fd], [], [], 0.25)[0]:
    escaped("the host's opening of the program was seen")
contained("nothing was seen")
