# /proc/PID/environ of no process, pid 1 included, shows the caller's variables.
# setup: secret-env
# off: spec={"pass_env": ["ESCAPE_API_TOKEN"]}
import os
from kernel import *

for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if b"host-secret-env" in open(f"/proc/{pid}/environ", "rb").read():
            escaped(f"the token is in /proc/{pid}/environ")
    except OSError:
        pass
contained("not in any environ")
