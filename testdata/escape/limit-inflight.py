# Descriptors that one sender of a jail has under way are fewer than the 1,024 at which the user's other programs cannot pass any.
# user: no program of the host has the uid of root's payload
# off: spec={"limits": {"rlimits": {"nofile": {"soft": 1024, "hard": 1024}}}}
import os, socket
from kernel import *

null, total, kept = os.open("/dev/null", os.O_RDONLY), 0, []
try:
    while total <= 1024:
        kept.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
        kept[-1][0].setblocking(False)
        socket.send_fds(kept[-1][0], [b"x"], [null] * 253)
        total += 253
except OSError as e:
    contained(f"{total}, then {e}")
escaped(f"{total} descriptors under way")
