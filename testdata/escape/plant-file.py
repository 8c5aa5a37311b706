# A file made through a link that a payload planted in a writable bind stays inside the jail (CVE-2026-87766).
# refusal: where the link leads to is not in the jail
# setup: planted-link
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}, {"type": "file", "source": "$DIR/secret", "target": "/work/link/made"}]}
# off: change=plain-lookup
from kernel import *

contained("the host's side is checked")
