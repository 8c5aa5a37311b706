# openat and openat2, from a descriptor of the directory and with any flag, open a protected file only for reading.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"], "git": "ro"}
# off: spec={"protect": [], "git": ""}
import os
import struct
from kernel import *

top, git = os.open("/work", os.O_PATH), os.open("/work/.git", os.O_RDONLY)
for fd, path in ((top, b".git/config"), (git, b"config"), (git, b"hooks/pre-commit")):
    for resolve in (0, 1, 4, 8, 16, 12):  # NO_XDEV, NO_SYMLINKS, BENEATH, IN_ROOT
        for r in (call("openat2", fd, path, struct.pack("=QQQ", os.O_WRONLY, 0, resolve), 24), call("openat", fd, path, os.O_WRONLY, 0)):
            if r >= 0:
                escaped(path.decode() + " was opened for writing")
contained("none was opened")
