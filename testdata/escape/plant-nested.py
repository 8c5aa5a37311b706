# Parent directories below a planted link are not made on the host either (CVE-2026-87766).
# refusal: where the link leads to is not in the jail
# setup: planted-link
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}, {"type": "dir", "target": "/work/link/a/b/c"}]}
# off: change=plain-lookup
from kernel import *

contained("the host's side is checked")
