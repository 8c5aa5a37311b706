# AF_VSOCK, which no network namespace confines, is refused.
# harm: the kernel may load modules for protocols that nobody here uses
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("AF_VSOCK", call("socket", 40, 1, 0))
