# No copy inside the kernel writes a protected file: FICLONE, copy_file_range, splice, a shared mapping.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"], "git": "ro"}
# off: spec={"protect": [], "git": ""}
import fcntl
import mmap
import os
from kernel import *

open("/work/evil", "w").write("evil")
source, fd = os.open("/work/evil", os.O_RDONLY), os.open("/work/.git/config", os.O_RDONLY)
for evil in (lambda: fcntl.ioctl(fd, 0x40049409, source), lambda: os.copy_file_range(source, fd, 4),
             lambda: os.sendfile(fd, source, 0, 4), lambda: mmap.mmap(fd, 4, mmap.MAP_SHARED, mmap.PROT_WRITE)):
    try:
        evil()
        escaped("it was written")
    except OSError:
        pass
denied("open", open, "/work/.git/config", "r+")
escaped("it was opened")
