# /proc/softirqs is masked: its counters are a side channel to other jails, as those of interrupts are.
# off: call="proc/softirqs", NULL
from kernel import *

text = open("/proc/softirqs").read()
escaped(repr(text[:60])) if text else contained("empty")
