# There is no /sys: neither the machine's devices nor its control groups can be seen or written to.
# off: bind=/sys
import os
from kernel import *

denied("list /sys", os.listdir, "/sys/kernel")
