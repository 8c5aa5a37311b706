# Threads count as processes do.
# spec: {"limits": {"processes": 32}}
# off: spec={"limits": {"processes": -1}}
import threading
import time
from kernel import *

try:
    for i in range(120):
        threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
except RuntimeError as e:
    contained(f"{e} after {i}") if i < 40 else escaped(f"{i} threads")
escaped("120 threads with a limit of 32")
