# Twice encoded dots are no dots here; a server that decodes twice is its owner's business.
# policy: {"allow": [{"host": "shared.example", "ports": [80], "mode": "http", "methods": ["GET"], "paths": ["/public"]}]}
# never: private
# log: kind=http name=shared.example verdict=deny reason=path
# off: none, the rig's server decodes once
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET /public/%252e%252e/x HTTP/1.1\r\nHost: shared.example\r\nConnection: close\r\n\r\n"))
