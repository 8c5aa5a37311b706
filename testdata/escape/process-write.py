# In the process tier no directory can be written to that was not named, even if anybody may write there.
# spec: {"tier": "process"}
# args: $DIR
# off: change=no-domain
import os
import sys
from kernel import *

denied("a file in a directory for everybody", lambda: open(sys.argv[1] + "/victim/planted", "w"))
