# A repository whose HEAD an earlier payload has taken away, so that git does not see one, has its settings and hooks protected.
# setup: headless
# spec: {"mounts": [{"type": "bind", "source": "$DIR", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
from kernel import *

for top in ("/work/work", "/work/work/modules/libs/s"):
    for name in ("config", "hooks/pre-commit", "commondir"):
        try:
            open(top + "/" + name, "w").write("evil")
        except OSError:
            pass
contained("the host's side is checked")
