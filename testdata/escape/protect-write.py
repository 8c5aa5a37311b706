# A protected file cannot be opened for writing.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"], "git": "ro"}
# off: spec={"protect": [], "git": ""}
from kernel import *

denied("open", open, "/work/.git/config", "w")
escaped("it was written")
