# No tracee is stopped on its way out (PTRACE_O_TRACEEXIT): processes that trace each other so survive SIGKILL, for ever.
# off: spec={"seccomp": "unconfined"}
import os
import signal
from kernel import *

SEIZE, SETOPTIONS, OLDSETOPTIONS, EXIT, HIGH = 0x4206, 0x4200, 21, 0x40, 0xDEAD << 32
done = []
for what, request, seize_with in (("PTRACE_SEIZE", None, EXIT), ("with others", None, EXIT | 0x1F), ("PTRACE_SETOPTIONS", SETOPTIONS, 0),
                                  ("its old number", OLDSETOPTIONS, 0), ("high bits", SETOPTIONS | HIGH, 0)):
    pid = os.fork()
    if pid == 0:
        signal.pause()
    r = call("ptrace", SEIZE, pid, 0, seize_with)
    if request and r == 0:
        call("ptrace", 0x4207, pid, 0, 0)  # PTRACE_INTERRUPT: options are for a tracee that has stopped
        os.waitpid(pid, 0)
        r = call("ptrace", request, pid, 0, EXIT)
    if r == 0:
        done.append(what)
    os.kill(pid, signal.SIGKILL)
    while not os.WIFSIGNALED(os.waitpid(pid, 0)[1]):
        call("ptrace", 7, pid, 0, 0)  # PTRACE_CONT
escaped(f"accepted: {done}") if done else contained("refused")
