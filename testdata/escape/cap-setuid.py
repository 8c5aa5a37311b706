# The payload cannot become another uid or gid, or clear its groups.
# off: none, the user namespace maps one uid and gid and the kernel knows no other
import os
from kernel import *

for what, action in (("setuid 0", lambda: os.setuid(0)), ("setgid 0", lambda: os.setgid(0)), ("setgroups", lambda: os.setgroups([])),
                     ("setresuid 65534", lambda: os.setresuid(65534, 65534, 65534))):
    try:
        action()
        escaped(what)
    except OSError:
        pass
contained("all refused")
