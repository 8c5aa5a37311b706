# Nobody's descriptors can be opened through /proc.
# log: none, nothing leaves
# off: none, the jail's process 1 is the same
from egress import *

seen = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    for fd in range(1024) if int(pid) != os.getpid() else ():
        try:
            seen.append(os.open(f"/proc/{pid}/fd/{fd}", os.O_PATH))
        except OSError:
            pass
(escaped if seen else contained)(str(seen))
