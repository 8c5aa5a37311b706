# The jail's /etc holds none of the host's accounts, but for the names that every Debian has, and no machine-id.
# unless: {"rootfs": {"path": "*"}}
# off: bind=/etc
import os
from kernel import *

names = [line.split(":")[0] for line in open("/etc/passwd")] if os.path.exists("/etc/passwd") else []
base = set("root brig daemon bin sys games man lp mail news uucp proxy www-data backup list irc nobody".split())
if set(names) != base or os.path.exists("/etc/machine-id"):
    escaped(f"the host's accounts or identity: {names[:5]}")
contained(f"accounts: {names}")
