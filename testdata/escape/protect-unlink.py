# A protected file cannot be removed and made again, nor a directory emptied.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in ("/work/.git/config", "/work/.git/hooks/pre-commit"):
    try:
        os.unlink(name)
        open(name, "w").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
