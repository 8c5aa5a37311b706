# When brig is killed the jail ends, and nothing that it did goes on.
# allow: tcp://good.example:17000
# wire: tcp 93.184.216.34:17000
# kill: when it is READY
# log: none, who is killed writes nothing
# off: none, brig is killed
import time
from egress import *

held = connect(four("good.example"), 17000)
held.recv(100)
print("READY", flush=True)
while True:
    for to in ("93.184.216.35", four("good.example")):
        got = tcp(to, 17000, b"after", 1)
        if b"EVIL" in got:
            print("ESCAPED", got, flush=True)
    time.sleep(0.01)
