# No file commondir can be made, by which git would read its settings elsewhere.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

try:
    open("/work/evil", "w").write("../evil")
    os.rename("/work/evil", "/work/.git/commondir")
except OSError:
    pass
try:
    open("/work/.git/commondir", "w").write("../evil")
except OSError:
    pass
contained("the host's side is checked")
