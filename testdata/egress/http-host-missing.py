# HTTP/1.1 without Host is refused.
# allow: shared.example
# never: GET
# log: kind=http verdict=deny name=shared.example reason=host_mismatch
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET / HTTP/1.1\r\n\r\n"))
