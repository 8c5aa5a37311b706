# /dev/shm is bounded as any tmpfs is.
# spec: {"mounts": [{"type": "tmpfs", "target": "/dev/shm", "size": "1m"}]}
# off: call="size", "1048576"
from kernel import *

try:
    with open("/dev/shm/f", "wb", buffering=0) as f:
        for _ in range(8):
            f.write(bytes(1 << 20))
except OSError as e:
    contained(e)
escaped("8 MiB in a /dev/shm of 1 MiB")
