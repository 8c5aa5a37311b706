# The mounts that protect cannot be detached, moved or made writable.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"], "git": "ro"}
# off: spec={"protect": [], "git": ""}
import ctypes
import struct
from kernel import *

call("umount2", b"/work/.git/config", 2)
call("umount2", b"/work/.git/hooks", 2)
call("mount", b"none", b"/work/.git/config", b"", 32 | 4096, b"")  # MS_REMOUNT | MS_BIND
call("mount_setattr", -100, b"/work/.git/config", 0, struct.pack("=QQQQ", 0, 1, 0, 0), 32)
denied("open", open, "/work/.git/config", "w")
escaped("it was written")
