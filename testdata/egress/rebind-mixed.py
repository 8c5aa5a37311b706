# Of several addresses of an allowed name only the good one is dialled.
# allow: mixed.example
# wire: tcp 93.184.216.34:80
# log: kind=http verdict=allow name=mixed.example address=93.184.216.34:80
# off: none, the order of the addresses is the resolver's
from egress import *

verdict(web("mixed.example"))
