# A deny rule for an address holds for the names that lead there.
# allow: barred.example
# deny: 93.184.216.35:80
# log: reason=denied name=barred.example port=80 verdict=deny
# off: host
from egress import *

verdict(web("barred.example"))
