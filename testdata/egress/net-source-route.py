# IP options that name a way are refused or ignored.
# log: verdict=deny reason=no_rule destination=93.184.216.35:80
# off: host
from egress import *

s = socket.socket()
s.settimeout(3)
try:
    s.setsockopt(socket.IPPROTO_IP, 4, bytes([131, 7, 4]) + socket.inet_aton("93.184.216.35") + b"\0")
except OSError:
    pass
verdict(tcp("93.184.216.35", 80, get("evil.example")))
