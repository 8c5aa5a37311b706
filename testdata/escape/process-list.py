# In the process tier no directory of the host can be listed but the public ones and what was named.
# spec: {"tier": "process"}
# args: $DIR
# off: change=no-domain
import os
import sys
from kernel import *

denied("a directory of the caller's", os.listdir, sys.argv[1])
