# An absolute target with another scheme is refused.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=protocol
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET https://evil.example/ HTTP/1.1\r\nHost: shared.example\r\n\r\n"))
