# A read-only bind cannot be written to by the owner of its files.
# setup: untouched
# spec: {"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "live": true}]}
# off: root passed=RDONLY
# off: user call={attr_set=RDONLY|NOSUID|NODEV}
from kernel import *

denied("write to /input", lambda: open("/input/file", "w").write("changed"))
