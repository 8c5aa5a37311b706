# In a control group of root's, which its launcher makes the jail in by a capability that it raises, the payload has none.
# root: an ordinary user's launcher has no capability to raise
# spec: {"user": "0:0", "limits": {"memory": "256m"}}
# off: label=caps
from kernel import *

group = [l.split("::", 1)[1].strip() for l in open("/proc/self/cgroup") if l.startswith("0::")]
sets = [l.split() for l in open("/proc/self/status") if l.startswith("Cap")]
left = [s for s in sets if int(s[1], 16)]
escaped(left) if left else contained(f"all {len(sets)} sets are empty in {group}")
