# Settings below /proc/sys cannot be written, not even the IPC namespace's own by its root.
# spec: {"user": "0:0"}
# off: call="proc/sys", 0, {attr_set
import os
from kernel import *

denied("write msgmni", lambda: os.write(os.open("/proc/sys/kernel/msgmni", os.O_WRONLY), b"9"))
