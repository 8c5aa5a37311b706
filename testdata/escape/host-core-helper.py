# No crash starts a program on the host where kernel.core_pattern is a pipe: RLIMIT_CORE is 1 and stays so (core(5)).
# unless: {"limits": {"rlimits": {"core": "*"}}}
# off: spec={"seccomp": "unconfined"}
import os
import resource
import struct
from kernel import *


def limit():
    return resource.getrlimit(resource.RLIMIT_CORE)


if limit() != (1, 1):
    escaped(f"it begins as {limit()}")
for nr, args in ((160, (4, struct.pack("QQ", 0, 0))), (302, (0, 4, struct.pack("QQ", 0, 0), 0)), (302, (os.getpid(), 4, struct.pack("QQ", 0, 1), 0)),
                 (302, (0, 4 | 1 << 32, struct.pack("QQ", 0, 0), 0)), (302, (0, 4, struct.pack("QQ", 0, 0), bytes(16)))):
    call(nr, *args)
contained("1:1 after all") if limit() == (1, 1) else escaped(f"it is {limit()} now")
