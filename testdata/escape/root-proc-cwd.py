# The caller's working directory and root do not leak through /proc/PID/cwd, root or fd (CVE-2024-21626).
# args: $DIR
# plan: leak=$DIR
# off: label=fds
import os
import sys
from kernel import *

for pid in [p for p in os.listdir("/proc") if p.isdigit()] + ["self"]:
    for link in ["cwd", "root"] + [f"fd/{n}" for n in range(64)]:
        for way in ("", "/..", "/../.."):
            path = f"/proc/{pid}/{link}{way}"
            if os.path.exists(path + sys.argv[1]) or os.path.exists(path + "/victim"):
                escaped(path + " is the host's")
contained("every link stays inside")
