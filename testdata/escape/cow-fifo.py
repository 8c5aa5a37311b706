# A FIFO of a cow mount does not lead to the host's process that reads it.
# setup: host-fifo
# refusal: tmpfs has extended attributes of users only since Linux 6.6, and root's overlays need 5.19
# spec: {"mounts": [{"type": "cow", "source": "$DIR/in", "target": "/input"}]}
# off: spec={"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "writable": true}]}
# off: spec={"optional": ["sockets"]}
from kernel import *

try:
    os.open("/input/fifo", os.O_WRONLY | os.O_NONBLOCK)
except OSError as e:
    contained(f"nobody reads it: {e}")
escaped("the host reads what is written")
