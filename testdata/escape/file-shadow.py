# The host's /etc/shadow does not exist in the jail, not even as a name.
# unless: {"rootfs": {"path": "*"}}
# off: bind=/etc
import os
from kernel import *

denied("stat /etc/shadow", os.stat, "/etc/shadow")
