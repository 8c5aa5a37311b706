# Amazon's is a unique local address of IPv6.
# needs: ipv6
# allow: [fd00:ec2::/32]:80
# log: verdict=deny reason=metadata destination=[fd00:ec2::254]:80
# off: host
from egress import *

verdict(tcp("fd00:ec2::254", 80))
