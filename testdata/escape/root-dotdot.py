# No path leads out of the root: neither .. nor a forgotten mount point, since the host's tree is unmounted behind it.
# args: $DIR/secret
# off: call=umount2(
# off: call=AT_REMOVEDIR
import os
import sys
from kernel import *

for way in ["/..", "../" * 12, "/work/../..", "/proc/self/cwd/../..", "/usr/../.."] + ["/" + e for e in os.listdir("/")]:
    try:
        fd = os.open(way, os.O_RDONLY)
        text = os.read(os.open("." + sys.argv[1], os.O_RDONLY, dir_fd=fd), 100)
    except OSError:
        continue
    escaped(f"{way}: {text}")
contained("every way up ends at the jail's root")
