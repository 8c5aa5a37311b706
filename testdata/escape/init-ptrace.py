# pid 1 cannot be traced by the payload, which has the same uid.
# unless: {"no_init": true}
# off: call=PR_SET_DUMPABLE, 0
from kernel import *

expect("PTRACE_SEIZE of pid 1", call("ptrace", 0x4206, 1, 0, 0))
