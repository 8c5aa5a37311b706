# What follows a request for an upgrade is not relayed unread before the server has agreed.
# allow: shared.example
# wire: tcp 93.184.216.36:80
# never: evil.example
# log: kind=http verdict=allow name=shared.example host=shared.example status=200
# log: kind=http verdict=deny name=shared.example reason=host_mismatch host=evil.example
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET / HTTP/1.1\r\nHost: shared.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n" + get("evil.example")))
