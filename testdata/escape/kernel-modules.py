# Kernel modules and kexec are refused before the kernel looks at their arguments.
# off: spec={"seccomp": "unconfined"}
from kernel import *

calls = {"init_module": (0, 0, 0), "finit_module": (-1, 0, 0), "delete_module": (0, 0), "kexec_load": (0, 0, 0, 0), "swapon": (0, 0),
         "acct": (0,), "quotactl": (0xFFFFFFFF80000100, 0, 0, 0)}  # the last is Q_SYNC, which anybody may ask for
reached = [c for c, args in calls.items() if name(call(c, *args)) != "EPERM"]
escaped(reached) if reached else contained(f"{len(calls)} calls")
