# No process of a jail has a descriptor of the upper directory but init, whose descriptors cannot be reached.
# setup: untouched
# refusal: tmpfs has extended attributes of users only since Linux 6.6, and root's overlays need 5.19
# spec: {"mounts": [{"type": "cow", "source": "$DIR/in", "target": "/input"}]}
# off: call=PR_SET_DUMPABLE, 0
import os
from kernel import *

names = set(os.listdir("/input"))
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        fds = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        continue
    for fd in fds:
        link = f"/proc/{pid}/fd/{fd}"
        try:
            held = os.listdir(link)
        except OSError:
            continue
        if os.stat(link).st_dev != os.stat("/proc").st_dev:
            escaped(f"{link} is a directory with {held}")
contained("none")
