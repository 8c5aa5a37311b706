# One jail takes a part of the caller's inotify instances, so that the caller's other programs keep the rest.
# off: label=inotify
from kernel import *

got = 0
while got < 40 and LIBC.inotify_init1(0) >= 0:
    got += 1
escaped(f"{got} instances and more") if got == 40 else contained(f"{got} instances")
