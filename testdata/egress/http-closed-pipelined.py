# What follows a request that closes the connection is not sent on.
# allow: shared.example
# wire: tcp 93.184.216.36:80
# never: evil.example
# log: kind=http verdict=allow name=shared.example host=shared.example status=200
# off: none, the rig's server closes, too
from egress import *

verdict(tcp(four("shared.example"), 80, get("shared.example") + get("evil.example")))
