# No file can be created in, renamed in or removed from a read-only bind.
# setup: untouched
# spec: {"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "live": true}]}
# off: root passed=RDONLY
# off: user call={attr_set=RDONLY|NOSUID|NODEV}
import os
from kernel import *

done = []
for what, action in (("create", lambda: open("/input/new", "w")), ("rename", lambda: os.rename("/input/file", "/input/moved")),
                     ("chmod", lambda: os.chmod("/input/moved", 0o777)), ("utime", lambda: os.utime("/input/file")),
                     ("symlink", lambda: os.symlink("x", "/input/link"))):
    try:
        action()
        done.append(what)
    except OSError:
        pass
escaped(done) if done else contained("all of them refused")
