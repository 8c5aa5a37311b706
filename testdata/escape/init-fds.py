# The descriptors of pid 1 cannot be listed or reopened through /proc.
# unless: {"no_init": true}
# off: call=PR_SET_DUMPABLE, 0
import os
from kernel import *

denied("list /proc/1/fd", os.listdir, "/proc/1/fd")
