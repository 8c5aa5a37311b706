# An empty Host is refused.
# allow: shared.example
# never: GET
# log: kind=http verdict=deny name=shared.example reason=name_invalid
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET / HTTP/1.1\r\nHost: \r\n\r\n"))
