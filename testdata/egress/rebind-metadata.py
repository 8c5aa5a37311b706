# An allowed name that leads to the metadata address leads nowhere.
# allow: meta.example
# log: reason=metadata name=meta.example port=80 verdict=deny
# off: host
from egress import *

verdict(web("meta.example"))
