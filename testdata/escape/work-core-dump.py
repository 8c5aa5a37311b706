# A crash leaves no core dump in a writable bind: it may hold what the payload was given to read.
# setup: core-dump
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}]}
# off: label=rlimit
# off: call=seccomp(SECCOMP_SET_MODE_FILTER
import os
import resource
from kernel import *


def crash():
    try:
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    except (OSError, ValueError):
        pass
    os.chdir("/work")
    os.abort()


in_child(crash)
contained("crashed; the host's side is checked")
