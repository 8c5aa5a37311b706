# A device node cannot be made, even by root of the user namespace with every capability.
# spec: {"user": "0:0"}
# off: none, the kernel asks for CAP_MKNOD of the first user namespace
import os
import stat
from kernel import *

denied("mknod", os.mknod, "/tmp/zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
