# userfaultfd, which stops the kernel in the middle of an access, is refused.
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("userfaultfd", call("userfaultfd", 1))
