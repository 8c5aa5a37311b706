# A directory that holds a FIFO is not shared live without a word: a read-only mount does not stop writing into it.
# refusal: Look finds the FIFO
# setup: host-fifo
# spec: {"mounts": [{"type": "bind", "source": "$DIR/in", "target": "/input", "live": true}]}
# off: spec={"optional": ["sockets"]}
import os
from kernel import *

denied("open", os.open, "/input/fifo", os.O_WRONLY | os.O_NONBLOCK)
