# Broadcasts go nowhere.
# log: kind=udp verdict=deny reason=blocked_address port=9999
# off: none, the rig's servers hear no broadcasts
from egress import *

verdict(udp("255.255.255.255", 9999))
