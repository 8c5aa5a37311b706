# A lock on a file of a cow mount does not cross between the jail and the host.
# setup: host-flock
# refusal: tmpfs has extended attributes of users only since Linux 6.6, and root's overlays need 5.19
# spec: {"mounts": [{"type": "cow", "source": "$DIR/in", "target": "/input"}]}
# off: spec={"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "writable": true}]}
import fcntl
from kernel import *

try:
    fcntl.flock(open("/input/file"), fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError as e:
    escaped(f"the host's lock is felt: {e}")
contained("the lock is the jail's own")
