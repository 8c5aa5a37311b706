# The jail's /etc holds none of the host's accounts and no machine-id.
# off: bind=/etc
import os
from kernel import *

names = [line.split(":")[0] for line in open("/etc/passwd")]
if "daemon" in names or os.path.exists("/etc/machine-id"):
    escaped(f"the host's accounts or identity: {names[:5]}")
contained(f"accounts: {names}")
