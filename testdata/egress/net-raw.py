# There is no raw socket.
# log: none, there is no socket to try it with
# off: none, it takes a capability
from egress import *

created("raw", socket.AF_INET, socket.SOCK_RAW, 255)
