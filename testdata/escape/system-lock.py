# A record lock (fcntl) on a file of /usr does not cross between the jail and the host: /usr is a private overlay.
# setup: usr-locks
# off: spec={"rootfs": {"system": "shared"}}
import fcntl
import struct
from kernel import *

F_OFD_GETLK = 36
ask = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
got = fcntl.fcntl(open("/usr/bin/tty"), F_OFD_GETLK, ask)
if struct.unpack_from("h", got)[0] != fcntl.F_UNLCK:
    escaped("the host's lock is felt")
contained("no lock of the host's is there")
