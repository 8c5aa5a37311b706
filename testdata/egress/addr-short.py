# So are two numbers.
# log: verdict=deny reason=no_rule destination=93.184.216.35:80
# off: host
from egress import *

verdict(tcp("93.12113955", 80))
