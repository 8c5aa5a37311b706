# A lock on a shared file does not cross between the jail and the host: a read-only bind is a private overlay.
# setup: host-flock
# spec: {"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input"}]}
# off: spec={"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "live": true}]}
import fcntl
from kernel import *

try:
    fcntl.flock(open("/input/file"), fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError as e:
    escaped(f"the host's lock is felt: {e}")
contained("the lock is the jail's own")
