# The payload cannot limit, pin or slow down the jail's init, which has to end the jail and to report.
# unless: {"no_init": true}
# off: call=seccomp(SECCOMP_SET_MODE_FILTER
import struct
from kernel import *

zero = struct.pack("QQ", 1, 1)
mask = (1).to_bytes(8, "little")
done = [what for what, r in (
    ("prlimit64", call(302, 1, 0, zero, 0)),
    ("prlimit64, high bits", call(302, 1 | 1 << 32, 0, zero, 0)),
    ("sched_setaffinity", call(203, 1, len(mask), mask)),
    ("sched_setscheduler", call("sched_setscheduler", 1, 5, struct.pack("i", 0))),
    ("setpriority", call("setpriority", 0, 1, 19)),
    ("setpriority of all of its uid", call("setpriority", 2, 0, 19)),
    ("setpriority, high bits", call("setpriority", 2 | 1 << 32, 0, 19)),
    ("ioprio_set of all of its uid", call(251, 3, 1000, 7 | 3 << 13)),
) if r == 0]
escaped(f"init has suffered {done}") if done else contained("init is not for the payload to limit")
