# 0x7f000001 is 127.0.0.1, which is not the host's.
# log: verdict=deny reason=blocked_address destination=127.0.0.1:80
# off: host
from egress import *

verdict(tcp("0x7f000001", 80))
