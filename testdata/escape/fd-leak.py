# A descriptor that the caller left open across exec does not reach the payload (CVE-2024-21626).
# plan: leak=$DIR
# off: label=fds
import os
from kernel import *

own = os.open("/proc/self/fd", os.O_RDONLY)
more = [f for f in os.listdir("/proc/self/fd") if int(f) > 2 and int(f) != own]
for f in more:
    try:
        if os.path.isdir(f"/proc/self/fd/{f}") and "secret" in os.listdir(int(f)):
            escaped(f"descriptor {f} is a directory of the host: {open(f'/proc/self/fd/{f}/secret').read()!r}")
    except OSError:
        pass
contained("0, 1 and 2")
