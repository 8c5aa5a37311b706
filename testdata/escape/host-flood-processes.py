# A fork bomb stops at the limit on processes.
# spec: {"limits": {"processes": 32}}
# off: spec={"limits": {"processes": -1}}
import os
import time
from kernel import *

for i in range(120):
    try:
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
    except OSError as e:
        contained(f"{e} after {i}") if i < 40 else escaped(f"{i} processes")
escaped("120 processes with a limit of 32")
