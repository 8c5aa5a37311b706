# The host's own address is refused even where a rule names its network.
# allow: 93.184.217.0/24:80
# log: verdict=deny reason=own_address destination=93.184.217.2:80
# off: host
from egress import *

verdict(tcp("93.184.217.2", 80))
