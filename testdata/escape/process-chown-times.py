# In the process tier no time of a file that the payload does not own changes, by a chown to nobody or as a file that everybody may write.
# spec: {"tier": "process"}
# args: $DIR
# setup: open-file
# off: change=no-guard
import os
import sys
from kernel import *

path, nobody = os.fsencode(sys.argv[1]) + b"/victim/open\0", 0xFFFFFFFF
usr = os.open("/usr", os.O_RDONLY | os.O_DIRECTORY)
done = [what for what, r in (
    ("chown", call(92, path, nobody, nobody)),
    ("lchown", call(94, path, nobody, nobody)),
    ("fchownat", call(260, -100, path, nobody, nobody, 0)),
    ("fchownat of an open file", call(260, usr, b"\0", nobody, nobody, 0x1000)),
    ("fchown", call(93, usr, nobody, nobody)),
    ("fchown, high bits", call(93, usr, nobody | 0xDEAD << 32, nobody | 0xDEAD << 32)),
    ("utimensat", call(280, -100, path, 0, 0)),
    ("setxattr", call(188, path, b"user.x\0", b"y", 1, 0)),
) if r >= 0]
escaped(done) if done else contained("refused")
