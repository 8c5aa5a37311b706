# AF_RXRPC, the first call of one half of Dirty Frag (CVE-2026-43500), is refused before the kernel looks for it.
# harm: the kernel may load modules for protocols that nobody here uses
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("AF_RXRPC", call("socket", 33, 2, 2))
