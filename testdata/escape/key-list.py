# /proc/keys is masked: it lists keys of the host's users.
# off: call="proc/keys", NULL
import os
from kernel import *

st = os.stat("/proc/keys")
contained("the null device") if st.st_rdev else escaped(f"/proc/keys is readable: {open('/proc/keys').read()!r:.100}")
