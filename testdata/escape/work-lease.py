# A lease on a shared file would hold up the host's own open(2) of it, for up to 45 seconds each: F_SETLEASE is refused.
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}]}
# off: spec={"seccomp": "unconfined"}
# off: call=seccomp(SECCOMP_SET_MODE_FILTER
import os
from kernel import *

os.close(os.open("/work/file", os.O_CREAT | os.O_WRONLY, 0o644))
expect("F_SETLEASE", call(72, os.open("/work/file", os.O_RDONLY), 1024, 0))
