# The host's /dev/shm is not visible: the jail has one of its own.
# args: $MARK
# setup: host-dev-shm
# off: bind=/dev/shm
import os
import sys
from kernel import *

escaped("the host's file is there") if sys.argv[1] in os.listdir("/dev/shm") else contained(os.listdir("/dev/shm"))
