# AF_PACKET is refused to root of the user namespace.
# spec: {"user": "0:0"}
# harm: the kernel may load modules for protocols that nobody here uses
# off: label=caps
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("AF_PACKET", call("socket", 17, 3, 0))
