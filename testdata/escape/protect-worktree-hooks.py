# A relative hooksPath protects the directory in the linked worktree that is shown, not only in the main one.
# setup: worktree-hooks
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in (".githooks/pre-commit", ".githooks/post-commit", "tools/clean"):
    try:
        os.makedirs(os.path.dirname("/work/" + name), exist_ok=True)
        open("/work/" + name, "w").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
