# A socket that a process of the host makes in a writable directory while the jail runs cannot be reached: only Landlock holds that.
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}]}
# setup: late-socket
# landlock: 9
# off: label=landlock
import os
import socket
import time
from kernel import *

open("/work/ready", "w").close()
for _ in range(500):
    if os.path.exists("/work/sock") and os.stat("/work/sock").st_mode & 0o002:
        break
    time.sleep(0.01)
else:
    raise TimeoutError("the host has made no socket")
denied("connect", socket.socket(socket.AF_UNIX).connect, "/work/sock")
