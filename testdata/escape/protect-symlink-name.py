# A symbolic link to a directory above gives a protected file no writable name.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"], "git": "ro"}
# off: spec={"protect": [], "git": ""}
import os
from kernel import *

os.symlink(".git", "/work/g")
denied("open", open, "/work/g/config", "w")
escaped("it was written")
