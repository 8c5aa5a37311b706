# In a directory below a repository's top, the hooks, included settings and programs that its settings name are protected.
# setup: below-top
# spec: {"mounts": [{"type": "bind", "source": "$DIR/repo/tools", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in ("hooks/pre-commit", "gitconfig", "fsmonitor", "none"):
    try:
        os.makedirs(os.path.dirname("/work/" + name), exist_ok=True)
        open("/work/" + name, "w").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
