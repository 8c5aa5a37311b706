# A ClientHello that never ends is given up, with a bound.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=not_tls
# off: none, the rig's server refuses it, too
from egress import *

shaken(tcp(four("shared.example"), 443, b"\x16\3\1\x40\0\1\xff\xff\xff" + b"h" * 16380 + (b"\x16\3\1\x40\0" + b"h" * 16384) * 8))
