# Unix sockets in the abstract namespace are the jail's own.
# log: none, nothing is tried
# off: none, the rig's host has none for certain
from egress import *

names = [line.split()[-1] for line in open("/proc/net/unix") if "@" in line]
(escaped if names else contained)(str(names[:3]))
