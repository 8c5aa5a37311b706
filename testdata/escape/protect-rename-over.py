# Nothing can be renamed over a protected file or directory.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

open("/work/config.lock", "w").write("evil")
os.mkdir("/work/evil")
for new, old in (("/work/config.lock", "/work/.git/config"), ("/work/evil", "/work/.git/hooks"), ("/work/evil", "/work/.git")):
    try:
        os.rename(new, old)
    except OSError:
        pass
contained("the host's side is checked")
