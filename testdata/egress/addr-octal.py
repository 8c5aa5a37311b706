# Octal digits are an address, too.
# log: verdict=deny reason=no_rule destination=93.184.216.35:80
# off: host
from egress import *

verdict(tcp("0135.0270.0330.043", 80))
