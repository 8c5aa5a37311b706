# A writable image whose directories are links to the host leads no mount point there (CVE-2025-52565, CVE-2025-52881).
# refusal: where the links lead to is not in the image
# setup: image
# spec: {"workdir": "/", "rootfs": {"path": "$DIR/root", "writable": true}, "mounts": [{"type": "bind", "source": "/usr", "target": "/usr"}]}
# off: change=plain-lookup
from kernel import *

contained("the host's side is checked")
