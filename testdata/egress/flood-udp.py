# Two thousand datagrams to as many places are logged, or counted.
# lines: 4000
# log: verdict=deny times=*
# off: none, a flood is none of the host's network's business
from egress import *

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for i in range(2000):
        try:
            s.sendto(b"x", (f"93.185.{i >> 8}.{i & 255}", 20000 + i))
        except OSError:
            pass
contained("all sent")
