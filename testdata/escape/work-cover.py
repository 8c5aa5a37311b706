# A tmpfs that covers a secret in a writable directory covers it in the next run, too: nothing above it can be renamed.
# setup: protected
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}, {"type": "tmpfs", "target": "/work/.git/hooks"}]}
# off: change=no-pins
import os
from kernel import *

try:
    os.rename("/work/.git", "/work/b")
except OSError as e:
    contained(str(e))
escaped("the next run shows /work/b/hooks")
