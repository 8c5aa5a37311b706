# clone cannot make a user namespace.
# off: spec={"seccomp": "unconfined"}
import os
from kernel import *

r = call("clone", 0x10000011, 0, 0, 0, 0)
if r == 0:
    os._exit(0)
expect("clone(CLONE_NEWUSER)", r)
