# /proc/locks is masked: it lists the host's open-file-description locks with device, inode and range.
# off: call="proc/locks", NULL
import os
from kernel import *

contained("the null device") if os.stat("/proc/locks").st_rdev else escaped("the real file is there")
