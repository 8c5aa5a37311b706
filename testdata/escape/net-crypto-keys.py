# A payload cannot have the kernel load modules of its cryptography by keys of TCP (TCP_MD5SIG, TCP_AO_ADD_KEY), nor hand packets to IPsec.
# harm: the kernel may load modules that nobody here uses
# off: spec={"seccomp": "unconfined"}
from kernel import *

tcp, udp, buf = call("socket", 2, 1, 6), call("socket", 2, 2, 17), b"\0" * 256
tries = {"TCP_MD5SIG": (tcp, 6, 14), "TCP_MD5SIG_EXT": (tcp, 6, 32), "TCP_AO_ADD_KEY": (tcp, 6, 38), "UDP_ENCAP": (udp, 17, 100)}
reached = [what for what, (s, level, option) in tries.items() if name(call(54, s, level, option, buf, 256)) != "EPERM"]
escaped(reached) if reached else contained("refused")
