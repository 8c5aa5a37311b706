# An allowed name without an address is an error of the name's, at once.
# allow: nowhere.example
# log: kind=http verdict=error reason=no_address name=nowhere.example
# off: none, it leads nowhere there, too
from egress import *

verdict(web("nowhere.example"))
