# personality cannot make read imply execute, or map page 0.
# off: spec={"seccomp": "unconfined"}
from kernel import *

reached = [hex(p) for p in (0x0400000, 0x0100000, 0x0440000) if name(call("personality", p)) != "EPERM"]
escaped(reached) if reached else contained("refused")
