# What is protected is so in each writable bind of the same directory.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}, {"type": "bind", "source": "$DIR/work", "target": "/src", "writable": true}], "protect": ["/work/.git/config", "/work/.mcp.json"]}
# off: spec={"protect": []}
from kernel import *

for name in ("/src/.git/config", "/src/.mcp.json"):
    try:
        open(name, "w").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
