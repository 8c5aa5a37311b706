# A rule for every port of every address leaves metadata out.
# allow: 0.0.0.0/0:*
# log: kind=tcp verdict=deny reason=metadata destination=169.254.169.254:9000
# off: host
from egress import *

verdict(tcp("169.254.169.254", 9000))
