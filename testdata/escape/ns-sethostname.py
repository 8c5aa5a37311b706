# sethostname is refused to root of the user namespace too.
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("sethostname", call("sethostname", b"evil", 4))
