# no_new_privs is set, so set-user-ID programs and file capabilities change nothing.
# off: call=PR_SET_NO_NEW_PRIVS
# off: spec={"seccomp": "unconfined"}
from kernel import *

contained("set") if call("prctl", 39, 0, 0, 0, 0) == 1 else escaped("not set")
