# No filter is attached to a socket: its machine code takes of memory that the whole machine shares (net.core.bpf_jit_limit).
# off: spec={"seccomp": "unconfined"}
import ctypes
import socket
import struct
from kernel import *

code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))  # ret 0
prog = struct.pack("HxxxxxxQ", 1, ctypes.addressof(code))
done = []
for what, kind, option in (("SO_ATTACH_FILTER", socket.AF_UNIX, 26), ("SO_ATTACH_REUSEPORT_CBPF", socket.AF_INET, 51)):
    s = socket.socket(kind, socket.SOCK_DGRAM)
    if call(54, s.fileno(), 1, option, prog, len(prog)) == 0:
        done.append(what)
escaped(f"accepted: {done}") if done else contained("refused")
