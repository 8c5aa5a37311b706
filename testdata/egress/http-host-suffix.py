# A Host that begins with the allowed name is another site.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=host_mismatch
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, get("shared.example.evil.example")))
