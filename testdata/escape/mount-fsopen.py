# The new mount interface, fsopen, is refused as the old one is.
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("fsopen tmpfs", call("fsopen", b"tmpfs\0", 0))
