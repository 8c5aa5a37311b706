# Attempts at five hundred ports are logged, or counted.
# lines: 700
# log: verdict=deny times=*
# off: none, a flood is none of the host's network's business
from egress import *

for port in range(20000, 20500):
    try:
        connect("93.184.216.35", port, 3).close()
        escaped(str(port))
    except OSError:
        pass
contained("all refused")
