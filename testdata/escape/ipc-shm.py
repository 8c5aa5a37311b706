# A System V shared memory segment of the host is not found.
# args: $SHMKEY
# setup: host-shm
# off: flag=CLONE_NEWIPC
import errno
import sys
from kernel import *

expect("shmget", call("shmget", int(sys.argv[1]), 4096, 0), errno.ENOENT, errno.EPERM)
