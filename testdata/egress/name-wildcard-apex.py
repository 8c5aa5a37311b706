# A wildcard does not allow the name that it hangs from.
# allow: *.many.example
# log: kind=dns verdict=deny reason=no_rule name=many.example
# off: host
from egress import *

verdict(web("many.example"))
