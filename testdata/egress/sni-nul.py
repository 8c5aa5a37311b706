# A NUL in the server name is refused: for a server in C the name would end there.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=name_invalid
# off: none, the rig's server is in Go, which takes the name as a whole or refuses it
from egress import *

first = hello("a" * 20 + ".example")
bad = first.replace(b"a" * 20 + b".example", b"shared.example\0" + b"evil.exampleX")
assert len(bad) == len(first)
shaken(tcp(four("shared.example"), 443, bad))
