# A target with user and password before the allowed name is refused.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=host_mismatch|protocol|name_invalid
# off: none, the rig's server reads the host behind the @
from egress import *

verdict(tcp(four("shared.example"), 80, b"GET http://evil.example@shared.example/ HTTP/1.1\r\nHost: shared.example\r\nConnection: close\r\n\r\n"))
