# A private address that a rule writes out is reached by an allowed name, and its requests may still name no other host.
# allow: ten.example
# allow: 10.0.0.1/32:80
# log: kind=http verdict=deny reason=host_mismatch name=ten.example port=80
# off: host
from egress import *

verdict(web("ten.example", host="evil.example"))
