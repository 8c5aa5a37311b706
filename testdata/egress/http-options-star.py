# OPTIONS * asks the whole server, which is not only the allowed site: its Host must be right at least.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=host_mismatch host=evil.example
# off: none, the rig's server answers it for no site
from egress import *

verdict(tcp(four("shared.example"), 80, b"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"))
