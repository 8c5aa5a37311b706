# A protected file cannot be truncated, by its name or by a descriptor.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

fd = os.open("/work/.git/config", os.O_RDONLY)
for cut in (lambda: os.truncate("/work/.git/config", 1), lambda: os.ftruncate(fd, 1),
            lambda: os.close(os.open("/work/.git/config", os.O_RDONLY | os.O_TRUNC))):
    try:
        cut()
    except OSError:
        pass
contained("the host's side is checked")
