# A hard resource limit cannot be raised by the payload.
# spec: {"limits": {"rlimits": {"nofile": {"soft": 64, "hard": 64}}}}
# off: label=rlimit
import resource
from kernel import *

try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (65, 65))
except (OSError, ValueError) as e:
    contained(e)
escaped("RLIMIT_NOFILE is above the limit")
