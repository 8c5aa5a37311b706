# A socket that was connected to an allowed name is used again for a denied address.
# allow: tcp://good.example:17000
# wire: tcp 93.184.216.34:17000
# log: kind=tcp verdict=allow name=good.example
# log: verdict=deny reason=no_rule destination=93.184.216.35:17000
# off: host
import ctypes
from egress import *

libc = ctypes.CDLL(None, use_errno=True)
s = connect(four("good.example"), 17000)
got = s.recv(100)
libc.connect(s.fileno(), b"\0" * 16, 16)
try:
    s.connect(("93.184.216.35", 17000))
    s.sendall(b"x")
    got += s.recv(100)
except OSError as e:
    got += repr(e).encode()
verdict(got)
