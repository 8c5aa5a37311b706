# The right server name at the address of another server is refused.
# allow: shared.example
# log: verdict=deny reason=no_rule destination=93.184.216.35:443
# off: host
from egress import *

verdict(https("93.184.216.35", "shared.example"))
