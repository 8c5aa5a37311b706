# A file that is protected inside of a writable directory has no other name there: the jail is refused.
# refusal: Look finds the hard link
# setup: protected
# setup: hard-link
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}, {"type": "bind", "source": "$DIR/work/.git/hooks", "target": "/work/.git/hooks"}]}
# off: spec={"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}]}
from kernel import *

open("/work/same", "w").write("evil")
contained("the host's side is checked")
