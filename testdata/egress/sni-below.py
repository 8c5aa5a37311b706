# A name below the allowed one is another name.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=sni_mismatch sni=www.shared.example
# off: host
from egress import *

shaken(tcp(four("shared.example"), 443, hello("www.shared.example")))
