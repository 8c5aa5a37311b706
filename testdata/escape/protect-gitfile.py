# Where .git is a file, it cannot be made to name another directory.
# setup: gitfile
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

try:
    open("/work/.git", "w").write("gitdir: evil")
except OSError:
    pass
try:
    os.unlink("/work/.git")
    os.mkdir("/work/.git")
except OSError:
    pass
contained("the host's side is checked")
