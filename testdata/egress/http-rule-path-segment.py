# A path that begins with an allowed one within a segment is another path.
# policy: {"allow": [{"host": "shared.example", "ports": [80], "mode": "http", "methods": ["GET"], "paths": ["/public"]}]}
# never: private
# log: kind=http verdict=deny name=shared.example reason=path
# off: none, the rig's server has nothing there
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET /publicprivate HTTP/1.1\r\nHost: shared.example\r\nConnection: close\r\n\r\n"))
