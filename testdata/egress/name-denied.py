# A deny rule wins over the allow rule that names the same.
# allow: *.example
# deny: evil.example
# log: kind=dns verdict=deny reason=denied name=evil.example
# off: host
from egress import *

verdict(web("evil.example"))
