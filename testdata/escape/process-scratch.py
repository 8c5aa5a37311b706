# In the process tier $TMPDIR of another jail, or what a killed one has left, cannot be opened.
# spec: {"tier": "process"}
# off: change=no-domain
import os
from kernel import *

own = os.environ["TMPDIR"]
open(own + "/file", "w").write("mine")
denied("the directory of all jails", os.listdir, os.path.dirname(own))
