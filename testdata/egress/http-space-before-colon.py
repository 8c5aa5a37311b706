# A space before the colon of a field is refused.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=protocol
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET / HTTP/1.1\r\nHost: shared.example\r\nHost : evil.example\r\n\r\n"))
