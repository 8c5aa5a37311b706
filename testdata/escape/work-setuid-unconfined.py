# Without a filter of brig's own, too, a payload leaves no set-user-ID program of the directory's owner on the host.
# setup: setuid
# spec: {"seccomp": "unconfined", "mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}]}
# off: call=seccomp(SECCOMP_SET_MODE_FILTER
import os
import shutil
import struct
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
# created with the bits: an empty file, which the host's root may fill
for what, nr, args in (("open", "open", lambda p, m: (p, os.O_CREAT | os.O_WRONLY, m)), ("creat", "creat", lambda p, m: (p, m)),
                       ("openat", "openat", lambda p, m: (-100, p, os.O_CREAT | os.O_WRONLY, m)),
                       ("mknod", "mknod", lambda p, m: (p, 0o100000 | m, 0)),
                       ("openat2", "openat2", lambda p, m: (-100, p, struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, m, 0), 24))):
    for mode in (0o4755, 0o2755):
        path = f"/work/made-{what}{mode:o}"
        call(nr, *args(path.encode() + b"\0", mode))
        if os.path.exists(path) and os.stat(path).st_mode & 0o6000:
            made.append(what)
escaped(f"set by {made}") if made else contained("no way to set the bits")
