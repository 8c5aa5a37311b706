# A second, unmasked procfs cannot be mounted.
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("mount proc", call("mount", b"proc\0", b"/tmp\0", b"proc\0", 0, 0))
