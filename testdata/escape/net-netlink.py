# Of netlink only NETLINK_ROUTE is there: not the kernel's events, audit or netfilter.
# harm: the kernel may load modules for protocols that nobody here uses
# off: spec={"seccomp": "unconfined"}
from kernel import *

reached = [p for p in range(1, 23) if name(call("socket", 16, 3, p)) != "EPERM"]
escaped(reached) if reached else contained("22 protocols")
