# A read-only descriptor of a protected file cannot be opened again for writing through procfs.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

fd, there = os.open("/work/.git/config", os.O_RDONLY), os.open("/work/.git/config", os.O_PATH)
os.chdir("/work/.git")
for name in (f"/proc/self/fd/{fd}", f"/proc/self/fd/{there}", "/proc/self/cwd/config", "/proc/self/root/work/.git/config"):
    try:
        open(name, "r+").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
