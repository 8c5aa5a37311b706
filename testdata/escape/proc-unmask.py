# The masks of /proc cannot be taken off with the capabilities of the user namespace, but the filter.
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("umount /proc/interrupts", call("umount2", b"/proc/interrupts\0", 2))
