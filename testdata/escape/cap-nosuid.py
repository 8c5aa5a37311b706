# No directory mounted in the jail honours set-user-ID bits.
# off: call={attr_set=RDONLY|NOSUID|NODEV}
import os
from kernel import *

mounts = [l.split()[4] for l in open("/proc/self/mountinfo") if "nosuid" not in l.split()[5].split(",")]
honour = [p for p in mounts if os.path.isdir(p)]  # a bound device is no program
escaped(honour) if honour else contained("all nosuid")
