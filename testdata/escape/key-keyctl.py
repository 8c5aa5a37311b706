# keyctl is refused: no namespace confines keyrings.
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("KEYCTL_GET_KEYRING_ID", call("keyctl", 0, -3, 1))
