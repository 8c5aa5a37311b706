# A program of the host that runs from a read-only bind cannot be overwritten through /proc/PID/exe (CVE-2019-5736).
# setup: sleeper
# spec: {"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "live": true}]}
# off: root passed=RDONLY
# off: user call={attr_set=RDONLY|NOSUID|NODEV}
import os
import subprocess
from kernel import *

child = subprocess.Popen(["/input/prog", "9"])
fd = os.open(f"/proc/{child.pid}/exe", os.O_PATH)
child.kill()
child.wait()


def overwrite():
    out = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY)
    os.write(out, b"#!/bin/sh\necho owned\n")


denied("overwrite the program", overwrite)
