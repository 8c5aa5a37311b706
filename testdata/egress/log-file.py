# The payload cannot reach the log's file by a path.
# log: none, nothing is tried over the network
# off: none, there is no log
from egress import *

found = []
for top, dirs, files in os.walk("/"):
    if top == "/":
        dirs[:] = [d for d in dirs if d not in ("proc", "usr", "bin", "sbin", "lib", "lib64")]
    found += [os.path.join(top, f) for f in files if f in ("net.log", "report.json")]
(escaped if found else contained)(str(found))
