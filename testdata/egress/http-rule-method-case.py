# Methods differ by case.
# policy: {"allow": [{"host": "shared.example", "ports": [80], "mode": "http", "methods": ["GET"], "paths": ["/public"]}]}
# never: /public
# log: kind=http verdict=deny name=shared.example reason=method
# off: none, the rig's server answers any word
from egress import *

verdict(tcp(four("shared.example"), 80, b"get /public HTTP/1.1\r\nHost: shared.example\r\nConnection: close\r\n\r\n"))
