# The payload is in a session of its own, so the caller's terminal is not its controlling one.
# off: call=setsid()
import os
from kernel import *

sid = os.getsid(0)
contained(f"session {sid}") if sid > 0 else escaped("the session is one of the host")
