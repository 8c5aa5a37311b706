# A descriptor of a directory above removes, renames and makes nothing that is protected.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

git, top = os.open("/work/.git", os.O_RDONLY), os.open("/work", os.O_RDONLY)
open("/work/evil", "w").write("evil")
for evil in (lambda: os.unlink("config", dir_fd=git), lambda: os.rename("config", "c", src_dir_fd=git, dst_dir_fd=git),
             lambda: os.rename("evil", ".mcp.json", src_dir_fd=top, dst_dir_fd=top), lambda: os.mkdir("commondir", dir_fd=git)):
    try:
        evil()
    except OSError:
        pass
contained("the host's side is checked")
