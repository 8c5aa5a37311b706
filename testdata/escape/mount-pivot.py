# pivot_root is refused.
# off: spec={"seccomp": "unconfined"}
# spec: {"user": "0:0"}
# off: label=caps
import errno
from kernel import *

expect("pivot_root", call("pivot_root", b"/tmp\0", b"/tmp\0"))
