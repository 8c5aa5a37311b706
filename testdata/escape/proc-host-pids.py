# The host's processes cannot be seen: /proc is that of the jail's own pid namespace.
# args: $MARK
# setup: host-process
# off: label=proc
# off: bind=/proc
import os
import sys
from kernel import *

for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if sys.argv[1] in open(f"/proc/{pid}/cmdline", errors="replace").read() and int(pid) != os.getpid() and "python" not in open(f"/proc/{pid}/comm", errors="replace").read():
            escaped(f"the host's process {pid} is visible")
    except OSError:
        pass
contained(f"{len([p for p in os.listdir('/proc') if p.isdigit()])} processes, all of the jail")
