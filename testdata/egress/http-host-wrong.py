# A server of an allowed name is not asked for another site that it has.
# allow: shared.example
# never: evil.example
# log: kind=http verdict=deny name=shared.example reason=host_mismatch host=evil.example
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, get("evil.example")))
