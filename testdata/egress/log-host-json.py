# A Host of JSON makes no field of the log.
# allow: shared.example
# log: kind=http verdict=deny name=shared.example reason=name_invalid
# off: none, there is no log
from egress import *

verdict(tcp(four("shared.example"), 80, b'GET / HTTP/1.1\r\nHost: x","verdict":"allow","y":"\r\n\r\n'))
