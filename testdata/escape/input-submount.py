# Read-only is recursive: a writable mount below a read-only bind cannot be written to either.
# root: only root can put a mount below the shared directory on the host
# setup: submount
# spec: {"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "live": true}]}
# off: passed=RDONLY
from kernel import *

denied("write to the submount", lambda: open("/input/sub/planted", "w"))
