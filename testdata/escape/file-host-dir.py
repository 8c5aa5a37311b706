# A directory of the host that nobody shared does not exist in the jail.
# args: $SECRETS
# off: bind=/tmp
# off: user bind=$DIR
# off: label=scratch
# spec: {"workdir": "/"}
import sys
from kernel import *

for path in sys.argv[1:]:
    try:
        escaped(f"{path}: {open(path).read()!r}")
    except OSError:
        pass
contained("nowhere")
