# A mount of the host's below a writable directory, which shows what is protected in it, is not shown writable.
# root: only root can make a bind mount on the host
# setup: bound-below
# refusal: the mount is what is protected, by another name
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
from kernel import *

open("/work/shown/pre-commit", "w").write("evil")
contained("the host's side is checked")
