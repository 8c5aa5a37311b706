# A rule for every port of every IPv6 address leaves unique local ones out.
# needs: ipv6
# allow: [::/0]:*
# log: kind=tcp verdict=deny reason=blocked_address destination=[fd00::1]:9000
# off: host
from egress import *

verdict(tcp("fd00::1", 9000))
