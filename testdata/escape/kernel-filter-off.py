# The filter stays: a second one can only refuse more.
# off: call=seccomp(
from kernel import *

mode = [line.split()[1] for line in open("/proc/self/status") if line.startswith("Seccomp:")][0]
r = call("prctl", 22, 0, 0, 0, 0)  # PR_SET_SECCOMP to "disabled"
contained(f"mode {mode}") if mode == "2" and r < 0 else escaped(f"mode {mode}, prctl {name(r)}")
