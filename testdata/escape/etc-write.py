# The payload cannot rewrite /etc/passwd or the loader's cache, though its uid owns the tmpfs that holds them.
# unless: {"rootfs": {"writable": true}}
# unless: bind=/etc
# harm: /etc/passwd is replaced
# off: call=mount_setattr(AT_FDCWD, "/"
import os
from kernel import *

denied("replace /etc/passwd", lambda: (os.unlink("/etc/passwd"), open("/etc/passwd", "w")))
