# chroot is refused: with a directory descriptor it is the classic way out.
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("chroot", call("chroot", b"/tmp\0"))
