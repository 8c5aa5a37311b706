# A payload with all capabilities of its user namespace, but the filter, cannot make a read-only bind writable.
# setup: untouched
# spec: {"user": "0:0", "mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "live": true}]}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
import os
from kernel import *

r = call("mount", b"none\0", b"/input\0", b"none\0", 0x1020, 0)  # MS_REMOUNT|MS_BIND
if r == 0:
    escaped("remounted without MS_RDONLY")
contained(f"remount: {name(r)}")
