# With --net none not even the jail's own loopback address answers.
# spec: {"net": "none"}
# off: spec={"net": "loopback"}
import socket
from kernel import *

s = socket.socket()


def use():
    s.bind(("127.0.0.1", 0))
    s.listen()
    return socket.create_connection(s.getsockname(), 2)


denied("use lo", use)
