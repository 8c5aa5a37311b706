# The payload inherits no descriptor of a socket.
# log: none, nothing leaves
# off: none, there are no listeners then
from egress import *

left = []
for fd in os.listdir("/proc/self/fd"):
    try:
        target = os.readlink("/proc/self/fd/" + fd)
    except OSError:
        continue
    if int(fd) > 2 and ("socket" in target or "net:" in target):
        left.append(target)
(escaped if left else contained)(str(left))
