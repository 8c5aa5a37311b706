# No link of the payload's stands where git of the host writes: messages, logs, references, the index, directories of objects.
# setup: git-links
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in ("COMMIT_EDITMSG", "MERGE_MSG", "FETCH_HEAD", "TAG_EDITMSG", "index", "logs/HEAD", "packed-refs", "refs/heads/main", "objects/info"):
    try:
        if os.path.lexists("/work/.git/" + name):
            os.remove("/work/.git/" + name)
        os.makedirs(os.path.dirname("/work/.git/" + name), exist_ok=True)
        os.symlink("/etc/passwd", "/work/.git/" + name)
    except OSError:
        pass
contained("the host's side is checked")
