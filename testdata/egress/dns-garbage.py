# What is no DNS does not leave by port 53.
# log: none, there is no question in it
# off: none, the rig's server answers questions only
from egress import *

got = ask(b"tunnel" * 20, wait=1)
verdict(udp("93.184.216.35", 53, b"tunnel") + got)
