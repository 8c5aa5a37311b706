# Neither does it where a rule names the metadata network.
# allow: meta.example
# allow: 169.254.0.0/16:80
# log: reason=metadata name=meta.example port=80 verdict=deny
# off: host
from egress import *

verdict(web("meta.example"))
