# A rule for every port of every address leaves private ones out.
# allow: 0.0.0.0/0:*
# log: kind=tcp verdict=deny reason=blocked_address destination=10.1.2.3:5432
# off: host
from egress import *

verdict(tcp("10.1.2.3", 5432))
