# A ClientHello without a name is refused.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=no_sni
# off: host
from egress import *

shaken(tcp(four("shared.example"), 443, hello(None)))
