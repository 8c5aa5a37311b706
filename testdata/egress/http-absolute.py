# An absolute target names the site.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=host_mismatch
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET http://evil.example/ HTTP/1.1\r\nHost: shared.example\r\n\r\n"))
