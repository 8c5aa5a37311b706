# Encoded line breaks in a path stay encoded.
# allow: shared.example
# log: kind=http verdict=allow name=shared.example
# wire: tcp 93.184.216.36:80
# off: none, there is no log
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET /%0a%7b%22verdict%22%3a1%7d%0d HTTP/1.1\r\nHost: shared.example\r\nConnection: close\r\n\r\n"))
