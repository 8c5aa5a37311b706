# The hooks and settings of submodules, and the files .git that lead to them, are protected.
# setup: repository
# setup: submodule
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in ("/work/.git/modules/libs/s/config", "/work/.git/modules/libs/s/hooks/pre-commit", "/work/libs/s/.git"):
    try:
        open(name, "w").write("evil")
    except OSError:
        pass
for name in ("/work/libs/s", "/work/libs", "/work/.git/modules/libs"):
    try:
        os.rename(name, "/work/moved")
    except OSError:
        pass
contained("the host's side is checked")
