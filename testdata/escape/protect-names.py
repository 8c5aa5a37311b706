# Neither a slash at the end, nor dots, nor another case is another name of a protected file.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
from kernel import *

for name in ("/work/.git/config/", "/work/.git/config/.", "/work//.git/./config", "/work/.git/../.git/config", "/proc/self/root/work/.git/config",
             "/work/.GIT/CONFIG", "/work/.git/CONFIG", "/work/.Git/config"):
    try:
        open(name, "w").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
