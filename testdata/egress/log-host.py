# A Host with line breaks of its own kind makes no line of the log.
# allow: shared.example
# log: kind=http verdict=deny name=shared.example reason=protocol
# off: none, there is no log
from egress import *

verdict(tcp(four("shared.example"), 80, b'GET / HTTP/1.1\r\nHost: a\x0b\x0c\x85{"verdict":"allow"}\x1b[31m\r\n\r\n'))
