# What stands before an @ is no Host.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=name_invalid
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 80, get("shared.example@evil.example")))
