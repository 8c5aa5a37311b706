# AF_VSOCK, which no network namespace confines, is refused.
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("AF_VSOCK", call("socket", 40, 1, 0))
