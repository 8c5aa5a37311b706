# A flood of output costs the keeper the limit and no more; what was dropped is counted.
# setup: output
# spec: {"limits": {"output": "64k"}}
# off: spec={"limits": {"output": 0}}
import sys
from kernel import *

for _ in range(64):
    sys.stdout.write("x" * (1 << 16) + "\n")
contained("the keeper's side is checked")
