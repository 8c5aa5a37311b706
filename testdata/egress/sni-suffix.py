# A name that begins with the allowed one is another name.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=sni_mismatch sni=shared.example.evil.example
# off: host
from egress import *

verdict(https(four("shared.example"), "shared.example.evil.example"))
