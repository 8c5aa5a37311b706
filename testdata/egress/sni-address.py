# An address as server name is not the name.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=sni_mismatch
# off: host
from egress import *

shaken(tcp(four("shared.example"), 443, hello("b" * 13).replace(b"b" * 13, b"93.184.216.35")))
