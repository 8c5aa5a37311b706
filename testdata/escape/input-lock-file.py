# A lock on a file that is shared by itself does not cross between the jail and the host: it is a private copy.
# setup: host-flock
# spec: {"mounts": [{"type": "bind", "source": "$DIR/in/file", "target": "/input/file"}]}
# off: spec={"mounts": [{"type": "bind", "source": "$DIR/in/file", "target": "/input/file", "live": true}]}
import fcntl
from kernel import *

try:
    fcntl.flock(open("/input/file"), fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError as e:
    escaped(f"the host's lock is felt: {e}")
contained("the lock is the jail's own")
