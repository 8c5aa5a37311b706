# Multipath TCP reaches the same listener, or does not exist.
# log: verdict=deny reason=no_rule destination=93.184.216.35:80
# off: host
from egress import *

try:
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
except OSError:
    s = socket.socket()  # so that the log has its line either way
s.settimeout(3)
try:
    s.connect(("93.184.216.35", 80))
    s.sendall(get("evil.example"))
    verdict(drain(s))
except OSError as e:
    contained(repr(e))
