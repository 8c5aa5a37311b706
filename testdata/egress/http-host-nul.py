# A NUL in Host is refused.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=protocol
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 80, get("shared.example\0evil.example")))
