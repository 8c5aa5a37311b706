# An image whose /etc is a link to a path that is on the host, too, has no file of /etc put there.
# setup: image-etc
# spec: {"workdir": "/", "rootfs": {"path": "$DIR/root"}, "mounts": [{"type": "bind", "source": "/usr", "target": "/usr"}]}
# off: change=plain-lookup
from kernel import *

contained("the host's side is checked")
