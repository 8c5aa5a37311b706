# In the process tier a file that was not named cannot be truncated by its path.
# spec: {"tier": "process"}
# args: $DIR
# user: root's payload owns no file of the host
# off: change=no-domain
import os
import sys
from kernel import *

denied("truncate", os.truncate, sys.argv[1] + "/in/file", 0)
