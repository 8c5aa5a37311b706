# In the process tier no file of the host can be read but the public ones and what was named.
# spec: {"tier": "process"}
# args: $DIR
# off: change=no-domain
import os
import sys
from kernel import *

denied("a file of the caller's", lambda: open(sys.argv[1] + "/secret").read())
