# A record of another type before the ClientHello is refused.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=not_tls
# off: none, the rig's server refuses it, too
from egress import *

shaken(tcp(four("shared.example"), 443, b"\x15\3\1\0\2\1\0" + hello("evil.example")))
