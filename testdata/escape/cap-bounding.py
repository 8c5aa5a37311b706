# The bounding set is empty: no file capability can add to the permitted set.
# off: call=PR_CAPBSET_DROP
from kernel import *

left = [c for c in range(64) if call("prctl", 23, c, 0, 0, 0) == 1]
escaped(left) if left else contained("empty")
