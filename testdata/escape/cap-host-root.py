# Called by root, the payload is not the host's root under another number.
# root: an ordinary user's payload is the user
# off: change=stay-root
from kernel import *

outside = open("/proc/self/uid_map").read().split()[1]
escaped("host uid 0") if outside == "0" else contained(f"host uid {outside}")
