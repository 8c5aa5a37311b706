# A process of the host with the payload's own uid cannot be traced.
# args: $HOSTPID
# setup: host-process
# off: flag=CLONE_NEWPID
# off: label=proc
# off: bind=/proc
# off: spec={"no_init": true}
import sys
from kernel import *

# ESRCH: no such process; without the namespace the kernel finds it (and judges its user namespace)
r = call("ptrace", 0x4206, int(sys.argv[1]), 0, 0)
nobody = call("ptrace", 0x4206, 0x3FFFFF, 0, 0)  # a filter may refuse the call whoever it is for
contained(name(r)) if r == nobody else escaped(f"the host's process was found: {name(r)}")
