# Connections that are never used do not keep others out for ever.
# allow: tcp://good.example:17000
# wire: tcp 93.184.216.34:17000
# log: kind=tcp verdict=allow name=good.example times=*
# off: none, nobody relays there
from egress import *

held = []
to = four("good.example")
for _ in range(40):
    try:
        held.append(connect(to, 17000, 2))
    except OSError:
        break
for s in held:
    s.close()
for _ in range(50):
    try:
        with connect(to, 17000, 2) as s:
            got = s.recv(100)
            if got:
                verdict(got)
    except OSError:
        pass
escaped("nobody answers any more")
