# The payload shares none of its mount, pid, net, ipc, uts, user and cgroup namespaces with the caller.
# args: $NS_cgroup $NS_ipc $NS_mnt $NS_net $NS_pid $NS_user $NS_uts
# setup: host-names
# unless: {"net": "host"}
# off: flag=CLONE_NEWCGROUP
import os
import sys
from kernel import *

shared = [a for a in sys.argv[1:] if a == os.readlink("/proc/self/ns/" + a.split(":")[0])]
escaped(shared) if shared else contained("seven of its own")
