# personality cannot turn off the randomisation of addresses, or make read imply execute.
# off: spec={"seccomp": "unconfined"}
from kernel import *

reached = [hex(p) for p in (0x0040000, 0x0400000) if name(call("personality", p)) != "EPERM"]
escaped(reached) if reached else contained("refused")
