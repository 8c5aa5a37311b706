# A ping socket does not exist, or its echo stays in the jail.
# log: none, ICMP is not carried, so nobody is asked
# off: none, an answer of the jail's own looks like the server's: the wire decides
from egress import *

try:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1) as s:
        s.settimeout(1)
        s.sendto(b"\x08\0\0\0\0\1\0\1secret", ("93.184.216.35", 0))
        s.recv(100)
except OSError as e:
    contained(repr(e))
contained("the jail itself has answered")
