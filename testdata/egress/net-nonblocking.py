# A connect(2) that is not waited for is logged, too.
# log: verdict=deny reason=no_rule destination=93.184.216.35:80
# off: host
from egress import *

s = socket.socket()
s.setblocking(False)
try:
    s.connect(("93.184.216.35", 80))
except BlockingIOError:
    pass
s.settimeout(3)
try:
    s.sendall(get("evil.example"))
    verdict(drain(s))
except OSError as e:
    contained(repr(e))
