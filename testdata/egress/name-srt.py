# An srt settings file as policy: deniedDomains wins over allowedDomains.
# policy: {"network": {"allowedDomains": ["*.example"], "deniedDomains": ["evil.example"]}}
# log: kind=dns verdict=deny reason=denied name=evil.example
# off: host
from egress import *

verdict(web("evil.example"))
