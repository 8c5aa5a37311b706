# A directory that holds a socket of a process of the host is not shared live without a word: the jail is refused.
# refusal: Look finds the socket
# setup: unix-socket
# spec: {"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "live": true}]}
# off: spec={"optional": ["sockets"]}
import socket
from kernel import *

denied("connect", socket.socket(socket.AF_UNIX).connect, "/input/sock")
