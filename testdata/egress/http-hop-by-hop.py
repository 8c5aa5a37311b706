# Connection does not strip Host on its way.
# allow: shared.example
# wire: tcp 93.184.216.36:80
# log: kind=http name=shared.example verdict=deny reason=protocol
# off: none, the rig's server keeps it
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET / HTTP/1.1\r\nHost: shared.example\r\nConnection: Host, close\r\n\r\n"))
