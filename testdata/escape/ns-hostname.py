# The host's name is not visible.
# args: $HOSTNAME
# setup: host-names
# unless: {"hostname": "*"}
# off: flag=CLONE_NEWUTS
# off: label=uts
import os
import sys
from kernel import *

escaped(os.uname().nodename) if os.uname().nodename == sys.argv[1] else contained(os.uname().nodename)
