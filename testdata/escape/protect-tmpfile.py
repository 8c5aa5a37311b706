# A file made by O_TMPFILE cannot be linked over a protected path, or at an absent one.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

fd = os.open("/work", os.O_TMPFILE | os.O_RDWR, 0o644)
os.write(fd, b"evil")
for name in (b"/work/.mcp.json", b"/work/.envrc"):
    call(265, -100, b"/proc/self/fd/%d" % fd, -100, name, 0x400)  # linkat, AT_SYMLINK_FOLLOW
contained("the host's side is checked")
