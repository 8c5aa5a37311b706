# The git directory of a submodule whose name has many slashes is protected.
# setup: module-name
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in (".git/modules/a/b/c/d/e/f/g/h/i/j/k/config", ".git/modules/a/b/c/d/e/f/g/h/i/j/k/hooks/pre-commit"):
    try:
        os.makedirs(os.path.dirname("/work/" + name), exist_ok=True)
        open("/work/" + name, "w").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
