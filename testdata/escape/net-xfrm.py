# Nobody sets up IPsec in a jail: what decrypts in place (Dirty Frag, CVE-2026-43284) needs a NETLINK_XFRM or AF_KEY socket first.
# harm: the kernel may load modules for protocols that nobody here uses
# off: spec={"seccomp": "unconfined"}
from kernel import *

got = {what: name(r) for what, r in (("NETLINK_XFRM", call("socket", 16, 3, 6)), ("high bits", call("socket", 16 | 7 << 32, 3, 6 | 7 << 32)),
                                     ("AF_KEY", call("socket", 15, 3, 2)))}
contained("refused") if set(got.values()) == {"EPERM"} else escaped(got)
