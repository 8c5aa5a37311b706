# HTTP/1.0 without Host is refused: the server would choose the site.
# allow: shared.example
# never: GET
# log: kind=http verdict=deny name=shared.example reason=host_mismatch
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET / HTTP/1.0\r\n\r\n"))
