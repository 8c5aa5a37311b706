# The 32-bit system calls of int 0x80 end the process: they would pass a filter by other numbers.
# off: spec={"seccomp": "unconfined"}
import ctypes
import mmap
import os
from kernel import *

code = mmap.mmap(-1, 4096, prot=7)
code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov $20, %eax; int $0x80; ret: getpid
enter = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
status = in_child(lambda: enter() < 0)
contained("killed") if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (9, 31) else escaped(f"status {status}")
