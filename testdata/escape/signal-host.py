# A process of the host with the payload's own uid cannot be killed: its pid means nothing here.
# args: $HOSTPID
# setup: host-process
# off: flag=CLONE_NEWPID
# off: label=proc
# off: bind=/proc
# off: spec={"no_init": true}
import os
import sys
from kernel import *

denied("SIGTERM to the host's process", os.kill, int(sys.argv[1]), 15)
