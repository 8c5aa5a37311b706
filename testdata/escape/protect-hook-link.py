# What links in the hooks and in other protected directories lead to is protected, absent or a directory, too.
# setup: hook-scripts
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in ("scripts/pre-commit", ".git/hooks/pre-commit", "scripts/none", "shared/lib/tool", "conf/tasks.json", "conf/far", ".vscode/tasks.json"):
    try:
        os.makedirs(os.path.dirname("/work/" + name), exist_ok=True)
        open("/work/" + name, "w").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
