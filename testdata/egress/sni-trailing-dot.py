# A wrong name with a dot at its end is a wrong name.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=sni_mismatch
# off: none, the rig's server refuses a dot at the end
from egress import *

shaken(tcp(four("shared.example"), 443, hello("evil.example" + "Z").replace(b"evil.exampleZ", b"evil.example.")))
