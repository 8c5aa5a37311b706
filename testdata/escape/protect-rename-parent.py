# A directory above a protected path cannot be moved away to put a prepared tree in its place.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
import shutil
from kernel import *

os.makedirs("/work/evil/hooks")
open("/work/evil/config", "w").write("evil")
try:
    os.rename("/work/.git", "/work/old")
    os.rename("/work/evil", "/work/.git")
except OSError as e:
    contained(str(e))
escaped("the tree was replaced")
