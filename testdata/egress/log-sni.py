# An SNI of an escape sequence is written as text.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example
# off: none, there is no log
from egress import *

first = hello("a" * 20 + ".example")
shaken(tcp(four("shared.example"), 443, first.replace(b"a" * 20, b'\x1b[2J","verdict":"all')))
