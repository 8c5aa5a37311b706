# /proc/1/exe does not give the payload brig's own binary, to read or to overwrite (CVE-2019-5736).
# unless: {"no_init": true}
# off: call=PR_SET_DUMPABLE, 0
import os
from kernel import *

denied("open /proc/1/exe", os.open, "/proc/1/exe", os.O_RDONLY)
