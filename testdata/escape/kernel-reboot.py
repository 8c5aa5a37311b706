# reboot is refused to root of the pid and user namespaces.
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
from kernel import *

# LINUX_REBOOT_CMD_CAD_ON, the harmless one; EINVAL means that the check has passed
expect("reboot", call("reboot", 0xFEE1DEAD, 672274793, 0x89ABCDEF, 0))
