# The right server name does not allow an address that no rule names.
# allow: shared.example
# log: verdict=deny reason=no_rule destination=93.184.216.36:443
# off: host
from egress import *

verdict(https("93.184.216.36", "shared.example", "evil.example"))
