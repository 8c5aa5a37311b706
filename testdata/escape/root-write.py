# The root directory and its synthesised /etc are read-only, even for their owner.
# unless: {"rootfs": {"writable": true}}
# off: call=mount_setattr(AT_FDCWD, "/"
from kernel import *

denied("write to /", lambda: open("/planted", "w"))
