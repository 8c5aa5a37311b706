# A writable bind of what is protected is refused.
# setup: repository
# refusal: the bind is another name of a protected directory
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}, {"type": "bind", "source": "$DIR/work/.git/hooks", "target": "/src", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
from kernel import *

open("/src/pre-commit", "w").write("evil")
contained("the host's side is checked")
