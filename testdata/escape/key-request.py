# request_key is refused: it makes the kernel start a helper on the host.
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("request_key", call("request_key", b"user\0", b"brig-none\0", 0, 0))
