# A raw socket cannot be opened by root of the user namespace.
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
import socket
from kernel import *

denied("raw socket", socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
