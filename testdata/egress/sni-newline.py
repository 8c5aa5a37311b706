# A line break in the server name is refused, and makes no line of the log.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=name_invalid
# off: none, the rig's server refuses such a name
from egress import *

first = hello("a" * 20 + ".example")
bad = first.replace(b"a" * 20 + b".example", b"shared.example\n{\"a\":\"b\"}xyzw")
assert len(bad) == len(first)
shaken(tcp(four("shared.example"), 443, bad))
