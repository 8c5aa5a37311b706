# In the process tier neither times nor attributes of a file can be changed by its path.
# spec: {"tier": "process"}
# args: $DIR
# user: root's payload owns no file of the host
# off: change=no-guard
import os
import sys
from kernel import *

for what, action in (("utime", lambda p: os.utime(p, (1, 1))), ("setxattr", lambda p: os.setxattr(p, "user.x", b"y"))):
    try:
        action(sys.argv[1] + "/in/file")
        escaped(what)
    except OSError:
        pass
contained("refused")
