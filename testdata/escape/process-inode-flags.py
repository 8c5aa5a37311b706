# In the process tier neither flags nor other lasting properties of a file change through a descriptor that is open for reading.
# spec: {"tier": "process", "mounts": [{"type": "bind", "source": "$DIR/in", "target": "$DIR/in"}]}
# args: $DIR
# off: change=no-guard
import os
import struct
import sys
from kernel import *

fd = os.open(sys.argv[1] + "/in/file", os.O_RDONLY)
tries = {"FS_IOC_SETFLAGS": 0x40086602, "FS_IOC32_SETFLAGS": 0x40046602, "FS_IOC_FSSETXATTR": 0x401C5820, "FS_IOC_SETVERSION": 0x40087602,
    "FS_IOC_ENABLE_VERITY": 0x40806685, "FS_IOC_SET_ENCRYPTION_POLICY": 0x800C6613, "FS_IOC_REMOVE_ENCRYPTION_KEY": 0xC0406618,
    "BTRFS_IOC_SUBVOL_SETFLAGS": 0x4008941A, "FAT_IOCTL_SET_ATTRIBUTES": 0x40047211}
reached = [what for what, r in tries.items() for high in (0, 0xDEAD << 32) if name(call("ioctl", fd, r | high, struct.pack("Q", 0x80) + b"\0" * 256)) != "EPERM"]
for what, r in (("fsetxattr", call(190, fd, b"user.evil\0", b"v\0", 1, 0)), ("fremovexattr", call(199, fd, b"user.evil\0"))):
    if r != -errno.EOPNOTSUPP:
        reached.append(what)
flags = ctypes.create_string_buffer(8)
if name(call("ioctl", fd, 0x80086601, flags)) == "EPERM":  # FS_IOC_GETFLAGS
    escaped("flags cannot be read")
escaped(reached) if reached else contained("refused")
