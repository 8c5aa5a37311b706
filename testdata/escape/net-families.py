# Every socket family but AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK is refused.
# harm: the kernel may load modules for protocols that nobody here uses
# off: spec={"seccomp": "unconfined"}
from kernel import *

reached = [f for f in range(64) if f not in (1, 2, 10, 16) and name(call("socket", f, 2, 0)) != "EPERM"]
escaped(reached) if reached else contained("60 families")
