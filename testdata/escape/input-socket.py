# A socket of the host below a read-only bind cannot be connected to.
# setup: unix-socket
# spec: {"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input"}]}
# off: spec={"optional": ["sockets"], "mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "live": true}]}
import socket
from kernel import *

denied("connect", socket.socket(socket.AF_UNIX).connect, "/input/sock")
