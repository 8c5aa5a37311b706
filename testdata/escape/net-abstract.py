# An abstract AF_UNIX socket of the host cannot be reached.
# args: $MARK
# setup: abstract-socket
# off: spec={"net": "host"}
import socket
import sys
from kernel import *

denied("connect", socket.socket(socket.AF_UNIX).connect, "\0" + sys.argv[1])
