# Each directory above a protected path stays, not the nearest one only.
# setup: repository
# setup: deep
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["a/b/c/file"]}
# off: spec={"protect": []}
import os
from kernel import *

for old in ("/work/a/b/c", "/work/a/b", "/work/a"):
    try:
        os.rename(old, "/work/moved")
        escaped(old + " was moved")
    except OSError:
        pass
contained("none was moved")
