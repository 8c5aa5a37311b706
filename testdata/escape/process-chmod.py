# In the process tier the permissions of a file cannot be changed by its path, which Landlock does not prevent.
# spec: {"tier": "process"}
# args: $DIR
# user: root's payload owns no file of the host
# off: change=no-guard
import os
import sys
from kernel import *

denied("chmod", os.chmod, sys.argv[1] + "/in/file", 0o666)
