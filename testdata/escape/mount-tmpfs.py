# Nothing can be mounted by root of the user namespace.
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("mount tmpfs", call("mount", b"none\0", b"/tmp\0", b"tmpfs\0", 0, 0))
