# The files that tell git of a linked worktree's directories are protected.
# setup: repository
# setup: worktree
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in ("commondir", "gitdir", "config.worktree"):
    try:
        open("/work/.git/worktrees/w/" + name, "w").write("evil")
    except OSError:
        pass
try:
    os.rename("/work/.git/worktrees", "/work/.git/w")
except OSError:
    pass
contained("the host's side is checked")
