# A name that changes its address between two connections is vetted each time.
# allow: flip.example
# wire: tcp 93.184.216.34:80
# log: kind=http verdict=allow name=flip.example address=93.184.216.34:80
# log: reason=blocked_address name=flip.example verdict=deny
# off: host
from egress import *

first, second = web("flip.example"), web("flip.example")
verdict(first + second)
