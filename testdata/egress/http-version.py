# A version that is neither 1.0 nor 1.1 is refused.
# allow: shared.example
# never: GET
# log: kind=http verdict=deny name=shared.example reason=not_http|protocol
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET / HTTP/1.2\r\nHost: shared.example\r\n\r\n"))
