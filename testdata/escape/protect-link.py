# No second name of a protected file can be made, by which it could be written.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name, new in (("/work/.git/config", "/work/.git/same"), ("/work/.git/hooks/pre-commit", "/work/.git/hooks/same")):
    try:
        os.link(name, new)
        open(new, "w").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
