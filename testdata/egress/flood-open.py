# max_connections holds.
# policy: {"allow": ["tcp://good.example:17000"], "max_connections": 5}
# wire: tcp 93.184.216.34:17000
# log: kind=tcp verdict=allow name=good.example times=5
# log: kind=tcp verdict=deny reason=max_connections times=5
# off: none, a flood is none of the host's network's business
from egress import *

to = four("good.example")
held, answers = [], 0
for _ in range(10):
    try:
        s = connect(to, 17000)
        held.append(s)
        answers += bool(s.recv(100))
    except OSError:
        pass
(contained if answers == 5 else escaped)(f"{answers} connections")
