# The jail's mount table shows none of the host's other mounts.
# args: $TARGETS
# off: call=umount2(
# off: call=AT_REMOVEDIR
import sys
from kernel import *

known = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "dev", "proc", "tmp", "work", "output", "escape", *(t.split("/")[1] for t in sys.argv[1:]))
seen = [line.split()[4] for line in open("/proc/self/mountinfo")]
more = [p for p in seen if p not in ("/", "/home/brig") and p.split("/")[1] not in known]
if more or seen.count("/") > 1:
    escaped(f"{seen.count('/')} roots, {more[:5]}")
contained(f"{len(seen)} mounts, all of the jail")
