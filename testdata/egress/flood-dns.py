# Five thousand names that are denied are logged, or counted, and none leaves.
# lines: 6000
# log: verdict=deny times=*
# off: none, a flood is none of the host's network's business
from egress import *

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(5)
    answers = 0
    for i in range(5000):
        s.sendto(question(f"n{i}.evil.example"), ("8.8.8.8", 53))
        answers += s.recv(512)[3] & 15 == 3
(contained if answers == 5000 else escaped)(f"{answers} times NXDOMAIN")
