# The only network interface is lo, and there is no route to anywhere.
# setup: host-names
# args: $NS_net
# off: spec={"net": "host"}
import os
import socket
import sys
from kernel import *

names = [n for _, n in socket.if_nameindex()]
routes = open("/proc/net/route").read().splitlines()[1:]
if names != ["lo"] or routes or os.readlink("/proc/self/ns/net") == sys.argv[1]:
    escaped(f"{names} {routes}")
contained("lo only")
