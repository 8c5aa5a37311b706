# The only network interface is lo, and there is no route to anywhere.
# setup: host-names
# args: $NS_net
# off: spec={"net": "host"}
import os
import sys
from kernel import *

names = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
routes = open("/proc/net/route").read().splitlines()[1:]
if names != ["lo"] or routes or os.readlink("/proc/self/ns/net") == sys.argv[1]:
    escaped(f"{names} {routes}")
contained("lo only")
