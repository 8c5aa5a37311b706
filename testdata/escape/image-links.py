# An image whose /tmp, /work and other mount points are links to the host leads none of the jail's mounts there (CVE-2025-31133).
# refusal: where the links lead to is not in the image
# setup: image
# spec: {"workdir": "/", "rootfs": {"path": "$DIR/root"}, "mounts": [{"type": "bind", "source": "/usr", "target": "/usr"}]}
# off: change=plain-lookup
from kernel import *

contained("the host's side is checked")
