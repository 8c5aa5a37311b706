# Idle connections to the responder of names are bounded, and it still answers.
# lines: 700
# log: kind=dns verdict=deny reason=max_connections times=*
# off: none, a flood is none of the host's network's business
import time
from egress import *

held = []
for _ in range(500):
    try:
        held.append(connect("8.8.8.8", 53, 2))
    except OSError:
        pass


def open_still(s):
    try:
        return s.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


for s in held:
    s.setblocking(False)
for _ in range(100):  # the responder may be busy with turning them away
    held = [s for s in held if open_still(s)]
    if len(held) <= 100:
        break
    time.sleep(0.1)
alive = len(held)
reply = ask(question("good.example"))
(contained if alive <= 100 and reply[6:8] == b"\0\1" else escaped)(f"{alive} connections, answer {reply[:12]!r}")
