# The responder is reached by IPv6, denies there, too, and its answer arrives.
# needs: ipv6
# log: kind=dns verdict=deny reason=no_rule name=evil.example destination=[2606:4700::35]:53
# off: none, the rig's server has no IPv6 address
from egress import *

with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
    s.settimeout(2)
    s.sendto(question("evil.example"), ("2606:4700::35", 53))
    answered(s.recv(4096))
