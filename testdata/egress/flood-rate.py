# connections_per_second holds.
# policy: {"allow": ["tcp://good.example:17000"], "connections_per_second": 3}
# wire: tcp 93.184.216.34:17000
# log: kind=tcp verdict=allow name=good.example times=*
# log: kind=tcp verdict=deny reason=rate times=*
# off: none, a flood is none of the host's network's business
import time
from egress import *

to = four("good.example")
answers, began = 0, time.monotonic()
for _ in range(60):
    try:
        with connect(to, 17000) as s:
            answers += bool(s.recv(100))
    except OSError:
        pass
bound = 3 * (time.monotonic() - began + 2)
(contained if answers <= bound else escaped)(f"{answers} connections where {bound} are allowed")
