# An absolute target that agrees with a wrong Host is wrong.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=host_mismatch
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"))
