# Repositories inside of the shown directory, which need not be one itself, are protected, and so are their tools' files.
# setup: nested
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in ("vendor/lib/.git/config", "vendor/lib/.git/hooks/pre-commit", "vendor/lib/githooks/pre-commit", "vendor/lib/.vscode/tasks.json", "vendor/bare.git/config", "vendor/bare.git/hooks/update"):
    try:
        os.makedirs(os.path.dirname("/work/" + name), exist_ok=True)
        open("/work/" + name, "w").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
