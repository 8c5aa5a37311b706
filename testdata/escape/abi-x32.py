# The system calls of the x32 ABI end the process.
# off: spec={"seccomp": "unconfined"}
import os
from kernel import *

status = in_child(lambda: call(0x40000000 + 39) and 0)
contained("killed") if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (9, 31) else escaped(f"status {status}")
