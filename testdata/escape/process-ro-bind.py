# In the process tier what is bound read-only cannot be changed, by its owner either.
# spec: {"tier": "process", "mounts": [{"type": "bind", "source": "$DIR/in", "target": "$DIR/in"}]}
# args: $DIR
# user: root's payload owns no file of the host
# off: change=no-domain
import os
import sys
from kernel import *

open(sys.argv[1] + "/in/file").read()
try:
    os.rename(sys.argv[1] + "/in/file", sys.argv[1] + "/in/renamed")
    escaped("renamed")
except OSError:
    pass
denied("a file in it", lambda: open(sys.argv[1] + "/in/file", "a"))
