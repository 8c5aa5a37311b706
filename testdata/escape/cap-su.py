# su, a set-user-ID program of the host, gives no other uid.
# off: none, no_new_privs, nosuid and the one-uid map each stop it alone
import os
import subprocess
from kernel import *

try:
    done = subprocess.run(["su", "-c", "id -u"], capture_output=True, stdin=subprocess.DEVNULL)
except FileNotFoundError:
    contained("there is no su in this root")
escaped(done.stdout) if done.returncode == 0 and done.stdout.strip() != str(os.getuid()).encode() else contained(done.stderr.strip())
