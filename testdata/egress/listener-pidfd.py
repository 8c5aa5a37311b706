# Nobody's descriptors can be taken by pidfd_getfd.
# log: none, nothing leaves
# off: none, the filter of system calls is the same
from egress import *

fd = call("pidfd_open", 1, 0)
got = [call("pidfd_getfd", fd, n, 0) for n in range(32)] if fd >= 0 else []
(escaped if any(r >= 0 for r in got) else contained)(f"pidfd_open {fd}, pidfd_getfd {got[:4]}")
