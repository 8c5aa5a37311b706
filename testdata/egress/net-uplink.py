# The jail has no interface but lo.
# log: none, nothing is tried
# off: host
from egress import *

names = [name for _, name in socket.if_nameindex()]
(contained if names == ["lo"] else escaped)(str(names))
