# RENAME_EXCHANGE swaps no protected path, nor a directory above one, with a prepared one.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
from kernel import *
import os

os.makedirs("/work/evil/hooks")
open("/work/evil/config", "w").write("evil")
for ours, theirs in ((b"/work/evil", b"/work/.git"), (b"/work/evil/config", b"/work/.git/config"), (b"/work/evil/hooks", b"/work/.git/hooks")):
    if call(316, -100, ours, -100, theirs, 2) == 0:  # renameat2
        escaped(theirs.decode() + " was exchanged")
contained("EBUSY or EXDEV")
