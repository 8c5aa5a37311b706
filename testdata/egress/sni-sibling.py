# Of two names below an allowed wildcard the one that was looked up counts.
# allow: *.many.example
# log: kind=tls verdict=deny name=a.many.example reason=sni_mismatch sni=b.many.example
# off: host
from egress import *

shaken(tcp(four("a.many.example"), 443, hello("b.many.example")))
