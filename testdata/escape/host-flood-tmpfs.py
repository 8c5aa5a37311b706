# A tmpfs has the size that was given to it: the payload cannot fill the host's memory through it.
# spec: {"mounts": [{"type": "tmpfs", "target": "/small", "size": "1m"}]}
# off: call="size", "1048576"
from kernel import *

try:
    with open("/small/f", "wb", buffering=0) as f:
        for _ in range(8):
            f.write(bytes(1 << 20))
except OSError as e:
    contained(e)
escaped("8 MiB in a tmpfs of 1 MiB")
