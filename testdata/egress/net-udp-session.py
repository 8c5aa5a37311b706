# A socket that may talk to one address may not talk to another by that.
# allow: udp://93.184.216.34:123
# wire: udp 93.184.216.34:123
# log: kind=udp verdict=allow destination=93.184.216.34:123
# log: kind=udp verdict=deny reason=udp destination=93.184.216.35:123
# off: host
from egress import *

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(2)
    s.sendto(b"time", ("93.184.216.34", 123))
    got = s.recv(100)
    try:
        s.sendto(b"time", ("93.184.216.35", 123))
        got += s.recv(100)
    except OSError:
        pass
    verdict(got)
