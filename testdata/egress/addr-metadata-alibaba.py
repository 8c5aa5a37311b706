# Alibaba's is in the shared address space.
# allow: 100.100.100.0/24:80
# log: verdict=deny reason=metadata destination=100.100.100.200:80
# off: host
from egress import *

verdict(tcp("100.100.100.200", 80))
