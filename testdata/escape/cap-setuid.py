# The payload cannot become another uid or gid, or clear its groups.
# off: none, the user namespace maps one uid and gid and the kernel knows no other
import os
from kernel import *

uid, gid = int(os.getuid() == 0), int(os.getgid() == 0)  # 0, or 1 for who is 0
for what, action in (("setuid", lambda: os.setuid(uid)), ("setgid", lambda: os.setgid(gid)), ("setgroups", lambda: os.setgroups([])),
                     ("setresuid 65534", lambda: os.setresuid(65534, 65534, 65534))):
    try:
        action()
        escaped(what)
    except OSError:
        pass
contained("all refused")
