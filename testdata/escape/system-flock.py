# A lock (flock) on a file of /usr does not cross between the jail and the host: /usr is a private overlay.
# setup: usr-locks
# off: spec={"rootfs": {"system": "shared"}}
import fcntl
from kernel import *

try:
    fcntl.flock(open("/usr/bin/tty"), fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError as e:
    escaped(f"the host's lock is felt: {e}")
contained("the lock is the jail's own")
