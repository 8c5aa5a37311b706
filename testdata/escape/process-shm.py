# In the process tier System V shared memory, which is the host's, cannot be used.
# spec: {"tier": "process"}
# args: $SHMKEY
# setup: host-shm
# off: change=no-guard
import sys
from kernel import *

expect("shmget", call("shmget", int(sys.argv[1]), 4096, 0), 38)
