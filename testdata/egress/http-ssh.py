# Another protocol on port 80 is refused.
# allow: shared.example
# never: SSH
# log: kind=http verdict=deny name=shared.example reason=not_http
# off: none, the rig's server refuses it, too
from egress import *

verdict(tcp(four("shared.example"), 80, b"SSH-2.0-OpenSSH_9.2\r\n"))
