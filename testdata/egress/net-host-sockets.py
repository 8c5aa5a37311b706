# No socket of the host's shows among the jail's.
# log: none, nothing is tried
# off: host
from egress import *

mine = set()
for name in ("tcp", "tcp6"):
    for line in open("/proc/net/" + name).readlines()[1:]:
        f = line.split()
        mine.add((f[1], f[3]))
secret = [a for a, state in mine if a.endswith(":18EB") and state == "0A"]  # 6379
(escaped if secret else contained)(f"{sorted(mine)}")
