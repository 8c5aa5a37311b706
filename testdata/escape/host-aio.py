# Kernel AIO is refused: what one jail reserves (fs.aio-max-nr) no database of the machine can have.
# off: spec={"seccomp": "unconfined"}
import errno
from kernel import *

context = bytes(8)
expect("io_setup", call(206, 1, context), errno.ENOSYS, errno.EPERM)
