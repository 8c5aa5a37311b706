# An allowed name that is an alias of a metadata service's name leads nowhere.
# allow: alias.example
# log: kind=http verdict=deny reason=metadata name=alias.example port=80
# off: host
from egress import *

verdict(web("alias.example"))
