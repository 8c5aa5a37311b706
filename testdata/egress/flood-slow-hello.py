# A ClientHello that does not end is given up.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=slow
# off: none, a flood is none of the host's network's business
import time
from egress import *

with connect(four("shared.example"), 443, 60) as s:
    try:
        for b in hello("shared.example")[:60]:
            s.sendall(bytes([b]))
            time.sleep(0.5)
    except OSError as e:
        contained(repr(e))
escaped("30 seconds")
