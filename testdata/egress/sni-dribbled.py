# A wrong name that arrives byte by byte is read all the same.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=sni_mismatch sni=evil.example
# off: host
import time
from egress import *

with connect(four("shared.example"), 443) as s:
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        for b in hello("evil.example"):
            s.sendall(bytes([b]))
            time.sleep(0.001)
    except OSError:
        pass
    shaken(drain(s))
