# SCTP carries nothing out.
# log: none, SCTP is not carried, and most kernels have none
# off: none, the rig's servers do not speak it
from egress import *

try:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132) as s:
        s.settimeout(1)
        s.connect(("93.184.216.35", 80))
except OSError as e:
    contained(repr(e))
contained("the jail itself has answered")
