# blocked_hosts of a policy file wins over its allow rules.
# policy: {"allow": ["*.example"], "blocked_hosts": ["evil.example"]}
# log: kind=dns verdict=deny reason=denied name=evil.example
# off: host
from egress import *

verdict(web("evil.example"))
