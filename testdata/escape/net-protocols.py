# Of AF_INET and AF_INET6 there are TCP, UDP and ping: for any other protocol the host's kernel loads a module, or runs rare code.
# harm: the kernel may load modules for protocols that nobody here uses
# off: spec={"seccomp": "unconfined"}
from kernel import *

HIGH = 0xDEAD << 32
usual = {(1, 0), (1, 6), (2, 0), (2, 17)}
kinds = [(t, p) for t in range(1, 11) for p in (0, 1, 2, 6, 17, 33, 58, 115, 132, 136, 256, 262) if (t, p) not in usual]
ping = {(2, 2, 1), (10, 2, 58)}
reached = [(f, t, p) for f in (2, 10) for t, p in kinds if (f, t, p) not in ping and name(call("socket", f | HIGH, t, p | HIGH)) != "EPERM"]
broken = [k for f in (2, 10) for k in usual if call("socket", f, k[0] | 0o2000000, k[1]) < 0]
if broken:
    contained(f"but not {broken}: this kernel has no IPv6")
escaped(reached) if reached else contained("TCP, UDP and ping alone")
