# pidfd_getfd is refused by the filter even where pid 1 may be looked into.
# off: spec={"seccomp": "unconfined"}
import os
from kernel import *

expect("pidfd_getfd of a child", call("pidfd_getfd", call("pidfd_open", os.getpid(), 0), 0, 0))
