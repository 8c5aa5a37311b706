# The kernel's log, with addresses and host names in it, cannot be read.
# off: none, kernel.dmesg_restrict may forbid it to everybody as well
from kernel import *

expect("syslog(SYSLOG_ACTION_SIZE_BUFFER)", call("syslog", 10, 0, 0))
