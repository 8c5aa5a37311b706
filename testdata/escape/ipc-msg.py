# A System V message queue of the host is not found.
# args: $MSGKEY
# setup: host-message-queue
# off: flag=CLONE_NEWIPC
import errno
import sys
from kernel import *

expect("msgget", call("msgget", int(sys.argv[1]), 0), errno.ENOENT, errno.EPERM)
