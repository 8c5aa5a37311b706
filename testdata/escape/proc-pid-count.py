# The payload sees init and itself, with the small pids of a namespace of its own.
# off: flag=CLONE_NEWPID
# off: label=proc
# off: bind=/proc
# off: spec={"no_init": true}
import os
from kernel import *

contained(os.getpid()) if os.getpid() < 10 else escaped(f"pid {os.getpid()} is of the host's namespace")
