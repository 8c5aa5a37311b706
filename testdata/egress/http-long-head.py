# A head that never ends is given up, with a bound.
# allow: shared.example
# never: GET
# log: kind=http verdict=deny name=shared.example reason=protocol
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET / HTTP/1.1\r\nHost: shared.example\r\n" + b"X: " + b"y" * 200000))
