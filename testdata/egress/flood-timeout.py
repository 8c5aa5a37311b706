# A server that nobody answers for is given up after connect_timeout.
# policy: {"allow": ["tcp://blackhole.example:80"], "connect_timeout": "500ms"}
# wire: tcp 93.184.216.99:80
# log: verdict=error reason=connect_timeout name=blackhole.example
# off: none, a flood is none of the host's network's business
from egress import *

verdict(web("blackhole.example"))
