# Empty records before the ClientHello do not hide it.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=not_tls
# off: none, the rig's server refuses empty records, too
from egress import *

shaken(tcp(four("shared.example"), 443, b"\x16\3\1\0\0" * 4 + hello("evil.example")))
