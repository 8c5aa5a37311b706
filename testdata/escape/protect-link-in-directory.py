# A file in a protected directory with a second name in the writable one: the jail is refused.
# setup: repository
# setup: hook-link
# refusal: Look finds the hard link
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
from kernel import *

open("/work/same", "w").write("evil")
contained("the host's side is checked")
