# On the host's network, too, an abstract AF_UNIX socket of the host cannot be reached: Landlock alone holds that.
# spec: {"net": "host"}
# args: $MARK
# setup: abstract-socket
# landlock: 6
# off: label=landlock
import socket
import sys
from kernel import *

denied("connect", socket.socket(socket.AF_UNIX).connect, "\0" + sys.argv[1])
