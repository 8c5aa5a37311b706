# In the process tier no Unix socket of the host can be reached by its path: docker.sock would be root.
# spec: {"tier": "process", "net": "host", "mounts": [{"type": "bind", "source": "$DIR/in", "target": "$DIR/in"}]}
# args: $DIR
# setup: unix-socket
# off: change=no-guard
import socket
import sys
from kernel import *

def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1] + "/in/sock")
    return "a connection"

denied("a socket of the host", connect)
