# What holds the place of an absent protected path cannot be removed, renamed, replaced or linked.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

open("/work/evil", "w").write("evil")
os.mkdir("/work/evildir")
open("/work/evildir/x", "w").write("evil")
for evil in (lambda: os.unlink("/work/.mcp.json"), lambda: os.rename("/work/.mcp.json", "/work/x"), lambda: os.rename("/work/evil", "/work/.mcp.json"),
             lambda: os.rename("/work/evildir", "/work/.vscode"), lambda: os.link("/work/evil", "/work/.codex"), lambda: os.rmdir("/work/.vscode")):
    try:
        evil()
    except OSError:
        pass
contained("the host's side is checked")
