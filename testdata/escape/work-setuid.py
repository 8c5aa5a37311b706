# A payload cannot leave a set-user-ID or set-group-ID program of the directory's owner on the host.
# setup: setuid
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}]}
# off: call=seccomp(SECCOMP_SET_MODE_FILTER
import os
import shutil
from kernel import *

made = []
for mode in (0o4755, 0o2755, 0o6755):
    path = f"/work/prog{mode:o}"
    shutil.copy("/usr/bin/true", path)
    fd = os.open(path, os.O_RDONLY)
    for what, r in (("chmod", call("chmod", path.encode() + b"\0", mode)), ("fchmod", call("fchmod", fd, mode)),
                    ("fchmodat", call("fchmodat", -100, path.encode() + b"\0", mode)),
                    ("fchmodat2", call("fchmodat2", -100, path.encode() + b"\0", mode, 0)),
                    ("high bits", call("chmod", path.encode() + b"\0", mode | 1 << 32))):
        if r == 0 and os.stat(path).st_mode & 0o6000:
            made.append(what)
    os.close(fd)
escaped(f"set by {made}") if made else contained("no way to set the bits")
