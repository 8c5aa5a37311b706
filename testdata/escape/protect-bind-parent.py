# What is protected is so in a writable bind of a directory above.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}, {"type": "bind", "source": "$DIR", "target": "/src", "writable": true}], "protect": ["/work/.git/config", "/work/.mcp.json"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in ("/src/work/.git/config", "/src/work/.mcp.json"):
    try:
        open(name, "w").write("evil")
    except OSError:
        pass
try:
    os.rename("/src/work", "/src/moved")
    escaped("the directory was moved")
except OSError:
    pass
contained("the host's side is checked")
