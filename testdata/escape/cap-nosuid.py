# No mount of the jail honours set-user-ID bits.
# off: call={attr_set=RDONLY|NOSUID|NODEV}
import os
from kernel import *

honour = [p for p in ("/", "/usr", "/tmp", "/work", "/dev", "/dev/shm", "/proc") if not os.statvfs(p).f_flag & os.ST_NOSUID]
mounts = [l.split()[4] for l in open("/proc/self/mountinfo") if "nosuid" not in l.split()[5]]
escaped(mounts) if honour or mounts else contained("all nosuid")
