# HTTP/0.9 is refused.
# allow: shared.example
# never: GET
# log: kind=http verdict=deny name=shared.example reason=not_http
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET /\r\n\r\n"))
