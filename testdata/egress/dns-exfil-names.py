# Names made up below a wildcard, which tell their owner's name server what they say, are resolved slowly.
# allow: http://*.many.example:80
# policy: {"names_per_second": 1}
# wire: tcp 93.184.216.34:80
# log: kind=http verdict=allow times=*
# log: kind=http verdict=deny reason=rate times=*
# off: host
from egress import *
import time

begun, answered = time.monotonic(), 0
for i in range(40):
    answered += b" 200 " in web(f"s3cr3t-{i}.many.example")
allowed = 5 + time.monotonic() - begun + 1
escaped(f"{answered} names in a moment") if answered > allowed else contained(f"{answered} of 40 names were resolved")
