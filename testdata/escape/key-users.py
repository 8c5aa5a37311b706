# /proc/key-users is masked: it counts the keys of the host's users.
# off: call="proc/key-users", NULL
import os
from kernel import *

contained("the null device") if os.stat("/proc/key-users").st_rdev else escaped(f"{open('/proc/key-users').read()!r:.100}")
