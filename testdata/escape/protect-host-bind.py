# A directory inside of a protected one, which the host shows elsewhere by a bind mount, is not shown writable.
# root: only root can make a bind mount on the host
# setup: bound-hooks
# refusal: the second directory is what is protected, by another name
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}, {"type": "bind", "source": "$DIR/alias", "target": "/src", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
from kernel import *

open("/src/tool", "w").write("evil")
contained("the host's side is checked")
