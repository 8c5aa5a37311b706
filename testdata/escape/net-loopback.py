# A service on the host's loopback address cannot be reached.
# args: $PORT
# setup: loopback
# off: spec={"net": "host"}
import socket
import sys
from kernel import *

denied("connect to the host's loopback", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2))
