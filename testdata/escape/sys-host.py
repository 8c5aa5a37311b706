# /sys shows how many processors there are, and nothing else: neither the machine's devices nor its control groups.
# off: bind=/sys
import os
from kernel import *

seen = sorted(os.path.join(d, n) for d, dirs, files in os.walk("/sys") for n in dirs + files)[:20]
cpu = "/sys/devices/system/cpu"
if set(seen) - {"/sys/devices", "/sys/devices/system", cpu} - {f"{cpu}/{n}" for n in ("online", "possible", "present")}:
    escaped(f"{seen}")
try:
    open(cpu + "/online", "a")
    escaped("it can be written to")
except OSError:
    contained(f"{seen}")
