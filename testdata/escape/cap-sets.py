# All five capability sets are empty.
# off: label=caps
from kernel import *

sets = [line.split() for line in open("/proc/self/status") if line.startswith("Cap")]
left = [s for s in sets if int(s[1], 16)]
escaped(left) if left or len(sets) != 5 else contained("five times 0")
