# Neither mode, owner, times nor extended attributes of a protected file can be changed.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

fd = os.open("/work/.git/config", os.O_RDONLY)
for change in (lambda: os.chmod("/work/.git/config", 0o777), lambda: os.fchmod(fd, 0o777), lambda: os.utime(fd, (1, 1)),
               lambda: os.chown(fd, os.getuid(), os.getgid()), lambda: os.setxattr(fd, "user.evil", b"1"), lambda: os.chmod("/work/.git/hooks", 0o777)):
    try:
        change()
    except OSError:
        pass
contained("the host's side is checked")
