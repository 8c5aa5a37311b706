# The layers of a cow mount are beneath it, and a payload with all capabilities but the filter cannot uncover them.
# root: the off case needs no other mount to be locked
# refusal: tmpfs has extended attributes of users only since Linux 6.6, and root's overlays need 5.19
# spec: {"user": "0:0", "mounts": [{"type": "cow", "source": "$DIR/in", "target": "/input"}]}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
import os
from kernel import *

os.chdir("/")
before = sorted(os.listdir("/input"))
r = call("umount2", b"/input\0", 2)  # MNT_DETACH
if r == 0 and sorted(os.listdir("/input")) != before:
    escaped(f"beneath the overlay there are {os.listdir('/input')}")
contained(f"umount2: {name(r)}")
