# Garbage above the low 32 bits of the family does not hide AF_VSOCK from the filter.
# harm: the kernel may load modules for protocols that nobody here uses
# off: spec={"seccomp": "unconfined"}
from kernel import *

for high in (1 << 32, 0xFFFFFFFF << 32, 1 << 63):
    r = call("socket", high | 40, 1, 0)
    if name(r) != "EPERM":
        escaped(f"{high:#x}: {name(r)}")
contained("EPERM")
