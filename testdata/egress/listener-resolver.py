# The responder of names cannot be replaced.
# log: none, nothing leaves
# off: none, nobody listens there in the host's network
from egress import *

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    denied("bind", s.bind, ("8.8.8.8", 53))
