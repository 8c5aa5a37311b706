# /proc/1/root and /proc/1/cwd cannot be walked through.
# unless: {"no_init": true}
# off: call=PR_SET_DUMPABLE, 0
import os
from kernel import *

denied("list /proc/1/root", os.listdir, "/proc/1/root/")
