# unshare cannot make a user namespace, which would give capabilities over new kernel code.
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("unshare(CLONE_NEWUSER)", call("unshare", 0x10000000))
