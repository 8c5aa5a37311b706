# Capitals do not hide a wrong name.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=sni_mismatch
# off: host
from egress import *

shaken(tcp(four("shared.example"), 443, hello("EVIL.EXAMPLE")))
