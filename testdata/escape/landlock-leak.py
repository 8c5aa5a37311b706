# A directory of the host that leaks into the jail as a descriptor gives no file of the host: Landlock alone holds that.
# plan: leak=$DIR
# plan: label=fds
# landlock: 2
# off: label=landlock
import os
from kernel import *

own = os.open("/proc/self/fd", os.O_RDONLY)
tried = []
for fd in [int(f) for f in os.listdir("/proc/self/fd") if int(f) > 2 and int(f) != own]:
    for path, flags in ("secret", os.O_RDONLY), ("victim/planted", os.O_WRONLY | os.O_CREAT), ("..", os.O_RDONLY):
        try:
            os.open(path, flags, dir_fd=fd)
            escaped(f"{path} of descriptor {fd} can be opened")
        except NotADirectoryError:
            pass
        except OSError as e:
            tried.append(f"{path}: {e.strerror}")
if not tried:
    escaped("nothing has leaked, so that nothing was tried")
contained(", ".join(tried))
