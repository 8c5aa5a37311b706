# The file .git of a linked worktree inside of the shown directory cannot be made to name another directory.
# setup: worktree-file
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

os.makedirs("/work/evil")
open("/work/evil/config", "w").write("evil")
try:
    open("/work/.worktrees/f/.git", "w").write("gitdir: ../../evil")
except OSError:
    pass
for name in (".worktrees/f/.git", ".worktrees/f", ".worktrees"):
    try:
        os.rename("/work/" + name, "/work/moved")
    except OSError:
        pass
contained("the host's side is checked")
