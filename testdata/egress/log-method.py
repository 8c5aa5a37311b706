# A method of JSON is no method.
# allow: shared.example
# log: kind=http verdict=deny name=shared.example reason=not_http
# off: none, there is no log
from egress import *

verdict(tcp(four("shared.example"), 80, b'{"verdict":"allow"} / HTTP/1.1\r\nHost: shared.example\r\n\r\n'))
