# Neither by TCP port 53.
# log: none, there is no question in it
# off: none, the rig's server answers questions only
from egress import *

verdict(tcp("93.184.216.35", 53, b"\0\6tunnel"))
