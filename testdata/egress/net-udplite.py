# UDP-Lite carries nothing out.
# log: none, nobody listens for this protocol in the jail and it is not carried
# off: none, the rig's servers do not speak it
from egress import *

try:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136) as s:
        s.settimeout(1)
        s.sendto(b"x", ("93.184.216.35", 9999))
        verdict(s.recv(100))
except OSError as e:
    contained(repr(e))
