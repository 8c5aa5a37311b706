# process_vm_readv cannot read pid 1.
# unless: {"no_init": true}
# off: call=PR_SET_DUMPABLE, 0
import ctypes
from kernel import *

buf = ctypes.create_string_buffer(8)
local = (ctypes.c_ulong * 2)(ctypes.addressof(buf), 8)
remote = (ctypes.c_ulong * 2)(ctypes.addressof(buf), 8)  # any address: EFAULT means that the check has passed
expect("process_vm_readv", call("process_vm_readv", 1, local, 1, remote, 1, 0))
