# allowed_ports of a policy file narrows its rules.
# policy: {"allow": ["good.example"], "allowed_ports": [443]}
# log: verdict=deny reason=port name=good.example port=80
# off: none, its server is a good one
from egress import *

verdict(web("good.example"))
