# Plain text on port 443 is refused.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=not_tls
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 443, get("evil.example")))
