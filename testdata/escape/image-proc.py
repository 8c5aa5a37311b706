# An image whose /proc is a link to its root does not get an unmasked procfs: the masks move with procfs.
# setup: image-proc
# spec: {"workdir": "/", "rootfs": {"path": "$DIR/root"}, "mounts": [{"type": "bind", "source": "/usr", "target": "/usr"}]}
# off: change=no-masks
from kernel import *

# ".." of the root is the root, and the kernel then follows what is mounted on it
text = open("/../interrupts").read()
escaped(repr(text[:60])) if text else contained("empty")
