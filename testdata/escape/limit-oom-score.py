# The payload cannot make itself a worse victim of the out-of-memory killer than the keeper is.
# off: none, the kernel asks for CAP_SYS_RESOURCE of the first user namespace
import os
from kernel import *

denied("oom_score_adj -500", lambda: os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-500"))
