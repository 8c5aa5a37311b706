# An allowed server that refuses is an error of the server's, at once.
# allow: tcp://good.example:4444
# wire: tcp 93.184.216.34:4444
# log: kind=tcp verdict=error reason=connect_failed name=good.example address=93.184.216.34:4444
# off: none, it refuses there, too
from egress import *

verdict(tcp(four("good.example"), 4444, wait=2))
