# A wrong name in a ClientHello of many records is read all the same.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=sni_mismatch sni=evil.example
# off: host
from egress import *

shaken(tcp(four("shared.example"), 443, records(hello("evil.example"), 7)))
