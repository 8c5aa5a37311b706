# So does 6to4.
# needs: ipv6
# allow: [::/0]:80
# log: verdict=deny reason=blocked_address destination=[2002:5db8:d823::1]:80
# off: host
from egress import *

verdict(tcp("2002:5db8:d823::1", 80))
