# A tcp rule is for its name and port: the synthetic address of one name does not serve for another.
# allow: shared.example
# allow: tcp://good.example:443
# log: kind=tls verdict=deny name=shared.example reason=sni_mismatch sni=evil.example
# off: host
from egress import *

shaken(tcp(four("shared.example"), 443, hello("evil.example")))
