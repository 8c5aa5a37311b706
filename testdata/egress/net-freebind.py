# A source address of somebody else's changes nothing.
# log: verdict=deny reason=no_rule destination=93.184.216.35:80
# off: none, the answer goes to whoever has the address
from egress import *

s = socket.socket()
s.settimeout(3)
s.setsockopt(socket.IPPROTO_IP, 15, 1)
try:
    s.bind(("93.184.216.34", 0))
    s.connect(("93.184.216.35", 80))
    s.sendall(get("evil.example"))
    verdict(drain(s))
except OSError as e:
    contained(repr(e))
