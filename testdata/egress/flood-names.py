# 65,600 allowed names do not fill the keeper: its addresses end, and it says so.
# allow: *.many.example
# lines: 20000
# log: kind=dns verdict=deny reason=pool_exhausted times=*
# off: none, a flood is none of the host's network's business
from egress import *

got = set()
full = 0
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(10)
    for i in range(65700):
        s.sendto(question(f"n{i}.many.example"), ("8.8.8.8", 53))
        reply = s.recv(512)
        if reply[7]:
            got.add(reply[-4:])
        else:
            full += 1
(contained if len(got) + full == 65700 and full else escaped)(f"{len(got)} addresses, {full} refusals")
