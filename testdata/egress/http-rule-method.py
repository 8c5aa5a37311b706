# A method that the rule does not list is refused.
# policy: {"allow": [{"host": "shared.example", "ports": [80], "mode": "http", "methods": ["GET"], "paths": ["/public"]}]}
# never: DELETE
# log: kind=http verdict=deny name=shared.example reason=method
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, b"DELETE /public HTTP/1.1\r\nHost: shared.example\r\nConnection: close\r\n\r\n"))
