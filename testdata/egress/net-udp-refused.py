# The sender of a refused datagram is told at once.
# log: kind=udp verdict=deny reason=udp destination=8.8.8.8:9999
# off: host
import time
from egress import *

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(2)
    s.connect(("8.8.8.8", 9999))
    s.send(b"x")
    try:
        verdict(s.recv(100))
    except OSError as e:
        contained(repr(e))
