# With the jail's root writable, Landlock alone keeps the payload from changing its system files.
# plan: call=mount_setattr(AT_FDCWD, "/"
# landlock: 2
# off: label=landlock
import os
from kernel import *

denied("replace /etc/passwd", lambda: (os.unlink("/etc/passwd"), open("/etc/passwd", "w")))
