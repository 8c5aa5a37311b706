# The mount point of a tmpfs below a planted link is not made on the host (CVE-2026-87766).
# refusal: where the link leads to is not in the jail
# setup: planted-link
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}, {"type": "tmpfs", "target": "/work/link/made"}]}
# off: change=plain-lookup
from kernel import *

contained("the host's side is checked")
