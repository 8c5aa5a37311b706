# AF_ALG, an interface to much kernel code, is refused before the kernel looks for it.
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("AF_ALG", call("socket", 38, 5, 0))
