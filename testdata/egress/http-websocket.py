# An upgrade is refused where the rule has paths: nobody could check what follows.
# policy: {"allow": [{"host": "shared.example", "ports": [80], "mode": "http", "paths": ["/public"]}]}
# wire: tcp 93.184.216.36:80
# never: websocket
# log: kind=http name=shared.example verdict=deny
# off: none, the rig's server has no websockets
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET /public HTTP/1.1\r\nHost: shared.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"))
