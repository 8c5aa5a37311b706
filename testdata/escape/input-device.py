# A device node in a shared directory cannot be opened: binds are nodev.
# root: only root can leave a device node on the host
# setup: device
# spec: {"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "live": true}]}
# off: passed=NODEV
from kernel import *

denied("read the device", lambda: open("/input/zero", "rb").read(1))
