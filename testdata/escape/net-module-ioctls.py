# The requests about bridges and VLANs, for which the kernel loads a module before it asks for a capability, are refused.
# harm: the kernel may load modules that nobody here uses
# off: spec={"seccomp": "unconfined"}
from kernel import *

sock, buf = call("socket", 1, 1, 0), b"\0" * 64
# SIOCGIFBR, SIOCSIFBR, SIOCGIFVLAN, SIOCSIFVLAN; those that make a bridge need a capability as well
reached = [hex(r) for r in (0x8940, 0x8941, 0x8982, 0x8983) for high in (0, 0xDEAD << 32) if name(call("ioctl", sock, r | high, buf)) != "EPERM"]
escaped(reached) if reached else contained("refused")
