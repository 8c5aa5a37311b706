# UDP to an address that no rule names goes nowhere.
# log: kind=udp verdict=deny reason=udp destination=8.8.8.8:9999
# off: host
from egress import *

verdict(udp("8.8.8.8", 9999))
