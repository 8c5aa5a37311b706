# A tmpfs has the number of files that was given to it: the payload cannot fill the kernel's memory with inodes.
# spec: {"mounts": [{"type": "tmpfs", "target": "/small", "inodes": 100}]}
# off: call="nr_inodes", "100"
from kernel import *

try:
    for i in range(300):
        open(f"/small/{i}", "w").close()
except OSError as e:
    contained(e)
escaped("300 files in a tmpfs of 100")
