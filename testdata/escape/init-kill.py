# SIGKILL, SIGSTOP and every other signal to pid 1 leave it alive: the jail's end stays in the keeper's hands.
# off: none, the kernel shields the first process of a pid namespace
import os
import signal
import time
from kernel import *

signal.pthread_sigmask(signal.SIG_BLOCK, set(range(1, 65)) - {9, 19})
for s in (9, 19, 6, 11, 4, 31):
    try:
        os.kill(1, s)
    except PermissionError:
        pass
time.sleep(0.05)
state = open("/proc/1/stat").read().rsplit(")", 1)[1].split()[0]
contained(f"pid 1 is {state}") if state in "SR" else escaped(f"pid 1 is {state}")
