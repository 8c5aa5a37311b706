# A Host that goes on in the next line is refused.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=protocol
# off: none, the rig's server joins the lines to what is no host
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET / HTTP/1.1\r\nHost: shared.example\r\n .evil.example\r\n\r\n"))
