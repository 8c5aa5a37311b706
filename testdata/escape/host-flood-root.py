# The tmpfs that the root stands on cannot be filled by the payload, which may not write there at all.
# unless: {"rootfs": {"writable": true}}
# unless: bind=/run
# harm: a file is left in /run
# off: call=mount_setattr(AT_FDCWD, "/"
import os
from kernel import *

denied("fill /run", lambda: open("/run/fill", "wb").write(bytes(1 << 20)))
