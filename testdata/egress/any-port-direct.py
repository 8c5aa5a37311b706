# The listener that takes every port cannot be reached at a port of its own, without a destination to be judged by.
# allow: tcp://good.example:*
# log: verdict=deny|error times=*
# off: none, there is no such listener
from egress import *

ports = set()
for name in ("tcp", "tcp6"):
    try:
        lines = open("/proc/net/" + name).readlines()[1:]
    except OSError:
        continue
    ports |= {int(line.split()[1].split(":")[1], 16) for line in lines if line.split()[3] == "0A"}
if not ports - {53}:
    raise SystemExit("no listener")
got = b""
for port in sorted(ports - {53}):
    for to in ("127.0.0.1", "10.0.2.100", "93.184.216.35", "169.254.169.254"):
        got += tcp(to, port, get("evil.example"))
verdict(got)
