# A synthetic address that no name has is nobody's.
# log: verdict=deny reason=no_rule destination=198.18.200.200:80
# off: none, nobody has it outside
from egress import *

verdict(tcp("198.18.200.200", 80))
