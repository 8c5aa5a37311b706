# A log that the caller appends to can be neither read back, nor truncated, nor rewritten.
# setup: log
# off: change=same-files
import fcntl
import os
from kernel import *

SECRET = b"host-secret"


def attempt(f):
    try:
        return f()
    except OSError:
        return b""


def reopened():
    fd = os.open("/proc/self/fd/2", os.O_RDONLY | os.O_NONBLOCK)
    return os.read(fd, 100)


seen = [attempt(lambda: os.pread(2, 100, 0)), attempt(reopened)]
attempt(lambda: fcntl.fcntl(2, fcntl.F_SETFL, 0))
attempt(lambda: os.pwrite(2, b"rewritten", 0))
attempt(lambda: os.ftruncate(2, 3))
attempt(lambda: os.close(os.open("/proc/self/fd/2", os.O_WRONLY | os.O_TRUNC)))
escaped(seen) if any(SECRET in s for s in seen) else contained(seen)
