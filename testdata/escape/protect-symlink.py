# A protected path that is a symbolic link is protected as a link, and what it leads to.
# setup: repository
# setup: linked-directory
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for evil in (lambda: open("/work/settings/file", "w").write("evil"), lambda: os.unlink("/work/.vscode"),
             lambda: os.rename("/work/settings", "/work/s"), lambda: os.symlink("/work/evil", "/work/.vscode")):
    try:
        evil()
    except OSError:
        pass
contained("the host's side is checked")
