# A thousand refused connections cost few lines, and each is counted.
# lines: 60
# log: verdict=deny reason=no_rule times=1000
# off: none, a flood is none of the host's network's business
from egress import *

got = b"".join(tcp("93.184.216.35", 80, get("evil.example")) for _ in range(1000))
verdict(got)
