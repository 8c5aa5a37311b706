# Hooks and settings that .git/config names elsewhere in the tree, by hooksPath and include, are protected, absent ones too.
# setup: hooks-path
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in (".husky/pre-commit", ".husky/_/pre-commit", ".gitconfig", "deep/more", "none", "no/dir"):
    try:
        os.makedirs(os.path.dirname("/work/" + name), exist_ok=True)
        open("/work/" + name, "w").write("evil")
    except OSError:
        pass
for name in (".husky", "deep"):
    try:
        os.rename("/work/" + name, "/work/moved")
        escaped(name + " was moved")
    except OSError:
        pass
contained("the host's side is checked")
