# A POSIX message queue of the host is not found.
# args: $MARK
# setup: host-posix-queue
# off: flag=CLONE_NEWIPC
import errno
import sys
from kernel import *

expect("mq_open", call("mq_open", sys.argv[1].encode() + b"\0", 0, 0, 0), errno.ENOENT, errno.EPERM)
