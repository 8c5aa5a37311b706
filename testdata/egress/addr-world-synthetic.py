# A rule for all addresses does not lead to what synthetic addresses stand for outside.
# allow: 0.0.0.0/0:80
# log: verdict=deny reason=no_rule destination=198.18.0.2:80
# off: host
from egress import *

verdict(tcp("198.18.0.2", 80))
