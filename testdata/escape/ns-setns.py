# setns is refused, before the kernel looks at the namespace.
# off: spec={"seccomp": "unconfined"}
import os
from kernel import *

expect("setns with the wrong type", call("setns", os.open("/proc/self/ns/uts", os.O_RDONLY), 0x20000000))
