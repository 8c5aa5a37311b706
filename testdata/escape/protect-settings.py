# Settings of more than 64 KiB, with quotes, continued lines and subsections, are read as git reads them.
# setup: settings
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in ("hooks.d/pre-commit", "tools/clean", "tools/driver.py", "tools/editor"):
    try:
        os.makedirs(os.path.dirname("/work/" + name), exist_ok=True)
        open("/work/" + name, "w").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
