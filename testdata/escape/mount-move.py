# move_mount cannot move a mask away.
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
from kernel import *

open("/tmp/f", "w").close()
expect("move_mount", call("move_mount", -100, b"/proc/interrupts\0", -100, b"/tmp/f\0", 0))
