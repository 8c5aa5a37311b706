# AF_ALG, an interface to much kernel code and the first call of Copy Fail (CVE-2026-31431), is refused before the kernel looks for it.
# harm: the kernel may load modules for protocols that nobody here uses
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("AF_ALG", call("socket", 38, 5, 0))
