# Binding a socket to a device leads no other way.
# log: verdict=deny reason=no_rule destination=93.184.216.35:80
# off: host
from egress import *

s = socket.socket()
s.settimeout(3)
for dev in (b"h0", b"eth0", b"lo"):
    try:
        s.setsockopt(socket.SOL_SOCKET, 25, dev)
        break
    except OSError:
        pass
try:
    s.connect(("93.184.216.35", 80))
    s.sendall(get("evil.example"))
    verdict(drain(s))
except OSError as e:
    contained(repr(e))
