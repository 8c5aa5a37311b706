# TLS on port 80 is not HTTP.
# allow: shared.example
# log: kind=http verdict=deny name=shared.example reason=not_http
# off: none, the rig's server speaks no TLS there
from egress import *

shaken(tcp(four("shared.example"), 80, hello("evil.example")))
