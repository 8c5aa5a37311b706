# The address of an allowed name is not allowed by that.
# log: verdict=deny reason=no_rule destination=93.184.216.34:80
# off: none, its server is a good one
from egress import *

verdict(tcp("93.184.216.34", 80))
