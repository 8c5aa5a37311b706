# The payload cannot hold more descriptors than the limit.
# spec: {"limits": {"rlimits": {"nofile": {"soft": 64, "hard": 64}}}}
# off: label=rlimit
import os
from kernel import *

denied("100 descriptors", lambda: [os.open("/dev/null", os.O_RDONLY) for _ in range(100)])
