# The git directory of a submodule of a linked worktree is protected.
# setup: worktree-module
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in (".git/worktrees/w/modules/s/config", ".git/worktrees/w/modules/s/hooks/pre-commit"):
    try:
        os.makedirs(os.path.dirname("/work/" + name), exist_ok=True)
        open("/work/" + name, "w").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
