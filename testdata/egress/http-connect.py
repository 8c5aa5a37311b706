# CONNECT makes no tunnel.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=method
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"))
