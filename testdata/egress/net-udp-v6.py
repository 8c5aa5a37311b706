# UDP by IPv6 goes nowhere.
# needs: ipv6
# log: kind=udp verdict=deny reason=udp destination=[2606:4700::35]:9999
# off: host
from egress import *

verdict(udp("2606:4700::35", 9999, family=socket.AF_INET6))
