# A path of 30,000 characters is cut in the log.
# allow: shared.example
# log: kind=http name=shared.example verdict=allow
# wire: tcp 93.184.216.36:80
# off: none, there is no log
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET /" + b"p" * 30000 + b" HTTP/1.1\r\nHost: shared.example\r\nConnection: close\r\n\r\n"))
