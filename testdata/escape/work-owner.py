# What root's payload writes to a writable bind belongs to the directory's owner, not to a stray uid of the host.
# root: an ordinary user's payload is the user
# setup: owner
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}]}
# off: change=no-idmap
from kernel import *

open("/work/made", "w").write("x")
contained("written; the host's side is checked")
