# A rule for every port of a name is for that name only.
# allow: tcp://good.example:*
# log: kind=tcp verdict=deny reason=no_rule destination=93.184.216.35:22
# off: host
from egress import *

verdict(tcp("93.184.216.35", 22))
