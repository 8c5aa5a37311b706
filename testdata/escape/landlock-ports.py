# With the host's network in the jail, --net none reaches no TCP port and opens none: Landlock alone holds that.
# spec: {"net": "none"}
# plan: flag=CLONE_NEWNET
# args: $PORT
# setup: loopback
# landlock: 4
# off: label=landlock
import errno
import socket
import sys
from kernel import *

tried = []
for what, action in (
    ("connect", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2)),
    ("bind", lambda: socket.socket().bind(("127.0.0.1", 0))),
    ("bind in IPv6", lambda: socket.socket(socket.AF_INET6).bind(("::1", 0))),
):
    try:
        action()
        escaped(what + " works")
    except OSError as e:
        if e.errno != errno.EACCES and "IPv6" not in what:  # which the kernel may lack
            escaped(f"{what}: {e.strerror}, which is not Landlock's answer")
        tried.append(f"{what}: {e.strerror}")
contained(", ".join(tried))
