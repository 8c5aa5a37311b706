# /proc/irq is covered: its spurious files count the machine's interrupts, as the masked /proc/interrupts does.
# off: call="proc/irq"
import os
from kernel import *

names = os.listdir("/proc/irq")
escaped(f"{names[:5]}") if names else contained("empty")
