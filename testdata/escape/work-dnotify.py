# Directories of the host cannot be watched by fcntl(F_NOTIFY), also where they are shared for writing.
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}]}
# off: spec={"seccomp": "unconfined"}
# off: call=seccomp(SECCOMP_SET_MODE_FILTER
import os
from kernel import *

fd = os.open("/work", os.O_RDONLY | os.O_DIRECTORY)
got = [what for what, high in (("F_NOTIFY", 0), ("high bits", 0xDEAD << 32)) if call(72, fd, 1026 | high, 4 | high) >= 0]
escaped(got) if got else contained("refused")
