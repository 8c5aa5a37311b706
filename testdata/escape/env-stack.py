# The memory of pid 1, which began as a copy of the keeper's helper, cannot be read.
# unless: {"no_init": true}
# off: call=PR_SET_DUMPABLE, 0
from kernel import *

denied("read /proc/1/mem", lambda: open("/proc/1/maps").read() and open("/proc/1/mem", "rb"))
