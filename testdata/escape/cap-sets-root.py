# Root inside the jail has no capability either: exec as uid 0 gives none back.
# spec: {"user": "0:0"}
# off: label=caps
from kernel import *

eff = [line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")][0]
escaped(eff) if int(eff, 16) else contained(eff)
