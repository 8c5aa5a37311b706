# fanotify_init is refused.
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("fanotify_init", call("fanotify_init", 0x200, 0))
