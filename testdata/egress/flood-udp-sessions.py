# Sessions of UDP count as connections: six hundred sockets do not get six hundred of them.
# policy: {"allow": ["udp://93.184.216.34:123"], "max_connections": 20}
# wire: udp 93.184.216.34:123
# lines: 700
# log: kind=udp verdict=allow destination=93.184.216.34:123 times=20
# log: kind=udp verdict=deny reason=max_connections destination=93.184.216.34:123 times=*
# off: none, a flood is none of the host's network's business
from egress import *

held, answers = [], 0
for i in range(600):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(2 if i < 20 else 0)
    s.sendto(b"time", ("93.184.216.34", 123))
    try:
        answers += bool(s.recv(100))
    except OSError:
        pass
    held.append(s)
(contained if answers == 20 else escaped)(f"{answers} sessions")
