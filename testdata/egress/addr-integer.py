# So is one integer.
# log: verdict=deny reason=no_rule destination=93.184.216.35:80
# off: host
from egress import *

verdict(tcp("1572395043", 80))
