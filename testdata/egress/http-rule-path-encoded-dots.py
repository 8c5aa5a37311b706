# Nor do encoded dots.
# policy: {"allow": [{"host": "shared.example", "ports": [80], "mode": "http", "methods": ["GET"], "paths": ["/public"]}]}
# never: private
# log: kind=http verdict=deny name=shared.example reason=path
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET /public/%2e%2e/private/x HTTP/1.1\r\nHost: shared.example\r\nConnection: close\r\n\r\n"))
