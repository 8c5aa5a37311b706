# Lines that end without CR are refused.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=protocol
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET / HTTP/1.1\nHost: evil.example\n\n"))
