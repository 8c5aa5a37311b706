# Another allowed name on the connection of the first is not what was looked up.
# allow: shared.example
# allow: good.example
# log: kind=tls verdict=deny name=shared.example reason=sni_mismatch sni=good.example
# off: host
from egress import *

shaken(tcp(four("shared.example"), 443, hello("good.example")))
