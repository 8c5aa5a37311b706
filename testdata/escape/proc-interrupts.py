# /proc/interrupts is masked: its counters are a side channel to the keyboard and to other jails.
# off: call="proc/interrupts"
from kernel import *

text = open("/proc/interrupts").read()
escaped(repr(text[:60])) if text else contained("empty")
