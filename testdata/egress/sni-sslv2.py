# A ClientHello of SSL 2.0, which names nobody, is refused.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=not_tls
# off: none, the rig's server refuses it, too
from egress import *

shaken(tcp(four("shared.example"), 443, b"\x80\x2e\x01\x03\x01\0\x15\0\0\0\x10" + b"\0\0\5" * 7 + b"c" * 16))
