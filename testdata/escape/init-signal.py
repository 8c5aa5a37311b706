# A signal that the payload sends to process 1 has no effect: init passes on the keeper's alone, whatever its sender calls itself.
# off: spec={"no_init": true}
import os
import signal
import struct
from kernel import *

seen = []
for s in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(s, lambda s, _: seen.append(s))
call(62, 1, int(signal.SIGUSR1))  # kill
info = struct.pack("iiiiii", signal.SIGTERM, 0, -1, 0, 0, 0).ljust(128, b"\0")  # SI_QUEUE by process 0, as an outsider's is
call(129, 1, int(signal.SIGTERM), info)
call("pidfd_send_signal", call("pidfd_open", 1, 0), int(signal.SIGUSR2), 0, 0)
for _ in range(3 if os.getpid() > 1 else 0):  # init has been through its signals when it has reaped orphans one after the other
    in_child(lambda: os.fork() and 0)
    while len([p for p in os.listdir("/proc") if p.isdigit()]) > 2:
        pass
escaped(f"sent back: {seen}") if seen else contained("nothing came back")
