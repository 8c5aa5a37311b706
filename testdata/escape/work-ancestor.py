# What is protected inside of a writable directory stays protected when the directory above it is to be moved away.
# setup: protected
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}, {"type": "bind", "source": "$DIR/work/.git/hooks", "target": "/work/.git/hooks"}]}
# off: change=no-pins
import os
import shutil
from kernel import *

try:
    os.rename("/work/.git", "/work/g")
    os.mkdir("/work/.git")
    shutil.copytree("/work/g/hooks", "/work/.git/hooks")
    os.unlink("/work/.git/hooks/pre-commit")
    open("/work/.git/hooks/pre-commit", "w").write("evil")
except OSError as e:
    contained(str(e))
contained("the host's side is checked")
