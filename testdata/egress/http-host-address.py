# An address as Host is not the name.
# allow: shared.example
# never: GET
# log: kind=http verdict=deny name=shared.example reason=host_mismatch
# off: host
from egress import *

verdict(tcp(four("shared.example"), 80, get("93.184.216.36")))
