# /proc/timer_list is masked: it names processes of the host.
# off: call="proc/timer_list", NULL
import os
from kernel import *

contained("the null device") if os.stat("/proc/timer_list").st_rdev else escaped("the real file is there")
