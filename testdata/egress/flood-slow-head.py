# A request head that does not end is given up.
# allow: shared.example
# log: kind=http verdict=deny name=shared.example reason=slow
# off: none, a flood is none of the host's network's business
import time
from egress import *

with connect(four("shared.example"), 80, 60) as s:
    try:
        s.sendall(b"GET / HTTP/1.1\r\nHost: shared.example\r\n")
        for _ in range(60):
            s.sendall(b"X: y\r\n")
            time.sleep(0.5)
    except OSError as e:
        contained(repr(e))
escaped("30 seconds")
