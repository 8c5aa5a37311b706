# In the process tier the host's mount table cannot be read.
# spec: {"tier": "process"}
# off: change=no-guard
# off: change=no-domain
from kernel import *

try:
    open("/proc/self/mountinfo").read()
    escaped("mountinfo")
except OSError as e:
    contained(e)
