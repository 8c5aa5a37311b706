# add_key is refused: keys would outlive the jail and count against the user.
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("add_key", call("add_key", b"user\0", b"brig-escape-added\0", b"x", 1, -2))
